"""The calls for people, for threads."""

from __future__ import annotations

from keyturn import _admin
from keyturn._sync.loop_thread import LoopThread
from keyturn._sync.waiting import waiting


class Admin:
    """AdminService: answers are the plain objects of `keyturn.views`. All take `timeout`, seconds."""

    def __init__(self, thread: LoopThread, admin: _admin.Admin) -> None:
        self._thread = thread
        self._aio = admin

    list_queues = waiting(_admin.Admin.list_queues)
    retry_now = waiting(_admin.Admin.retry_now)
    list_keys = waiting(_admin.Admin.list_keys)
    explain_key = waiting(_admin.Admin.explain_key)
    evict_holder = waiting(_admin.Admin.evict_holder)
    resume_key = waiting(_admin.Admin.resume_key)
    pause_queue = waiting(_admin.Admin.pause_queue)
    resume_queue = waiting(_admin.Admin.resume_queue)
    set_limits = waiting(_admin.Admin.set_limits)
    list_dead_letters = waiting(_admin.Admin.list_dead_letters)
    redrive = waiting(_admin.Admin.redrive)
    discard = waiting(_admin.Admin.discard)
