"""The calls for people, for threads."""

from __future__ import annotations

from keyturn._aio.admin import Admin as AioAdmin
from keyturn._sync.loop_thread import LoopThread
from keyturn._sync.waiting import waiting


class Admin:
    """AdminService, and what people ask of LeaderService.

    Answers are the plain objects of `keyturn.views`. All take `timeout`, seconds.
    """

    def __init__(self, thread: LoopThread, admin: AioAdmin) -> None:
        self._thread = thread
        self._aio = admin

    list_queues = waiting(AioAdmin.list_queues)
    retry_now = waiting(AioAdmin.retry_now)
    get_cluster = waiting(AioAdmin.get_cluster)
    move_partition = waiting(AioAdmin.move_partition)
    release_partition = waiting(AioAdmin.release_partition)
    finalize_cluster = waiting(AioAdmin.finalize_cluster)
    route_queue = waiting(AioAdmin.route_queue)
    restore_partitions = waiting(AioAdmin.restore_partitions)
    list_keys = waiting(AioAdmin.list_keys)
    explain_key = waiting(AioAdmin.explain_key)
    get_item = waiting(AioAdmin.get_item)
    list_sessions = waiting(AioAdmin.list_sessions)
    get_server = waiting(AioAdmin.get_server)
    evict_holder = waiting(AioAdmin.evict_holder)
    resume_key = waiting(AioAdmin.resume_key)
    pause_queue = waiting(AioAdmin.pause_queue)
    resume_queue = waiting(AioAdmin.resume_queue)
    set_limits = waiting(AioAdmin.set_limits)
    list_dead_letters = waiting(AioAdmin.list_dead_letters)
    redrive = waiting(AioAdmin.redrive)
    discard = waiting(AioAdmin.discard)
    get_leader = waiting(AioAdmin.get_leader)
    yield_leader = waiting(AioAdmin.yield_leader)
