"""One client on its event loop: what `keyturn.aio.Client` and `keyturn.Client` both stand on."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any, TypeVar

from keyturn._aio.admin import Admin
from keyturn._connection.call import check_loop, client_closed
from keyturn._connection.channel import Connection
from keyturn._connection.unary import Unary
from keyturn._connection.waits import Background
from keyturn._consume.consumption import Consumption
from keyturn._consume.options import DEFAULT_STOP, ConsumeSettings
from keyturn._consume.worker import HandlerRunner
from keyturn._lead.leadership import CareerRunner, LeadershipCore
from keyturn._lead.link import LeadLink
from keyturn._lead.options import DEFAULT_STOP as DEFAULT_LEAD_STOP
from keyturn._lead.options import LeadSettings
from keyturn._produce.options import LONGEST_CLOSE, ProducerSettings
from keyturn._produce.production import Production
from keyturn._session.base import LEAVING, Base
from keyturn._session.open_commands import OpenLimits
from keyturn._session.session_transport import SessionTransport
from keyturn._session.transport import Transport
from keyturn._session.unary_transport import UnaryTransport
from keyturn._tracing.find_api import tracer_of
from keyturn._words.options import Options

W = TypeVar("W")


class Core:
    """Does no I/O when it is made: the connection is made by the first call."""

    def __init__(self, address: str, options: Options) -> None:
        tracer = tracer_of(options.tracing)
        self._connection = Connection(address, options.tls, options.token)
        self._unary = Unary(self._connection, None)
        self.admin = Admin(self._unary)
        self.base = Base(self._transport(options), tracer)
        self._consumers: set[Consumption[Any]] = set()
        self._producers: set[Production] = set()
        self._leaderships: set[LeadershipCore[Any]] = set()
        self._lead_link = LeadLink(self._connection, self.base.loop)
        self._background = Background(self.base.loop)
        self._closing: asyncio.Task[None] | None = None

    @property
    def transport(self) -> Transport:
        return self.base.transport

    def _transport(self, options: Options) -> Transport:
        if options.transport == "unary":
            return UnaryTransport(
                self._connection,
                consumer_id=options.consumer_id,
                margin=options.margin,
                metrics=options.metrics,
            )
        return SessionTransport(
            self._connection,
            session_id=options.session_id or str(uuid.uuid4()),
            consumer_id=options.consumer_id,
            ttl=options.session_ttl,
            margin=options.margin,
            limits=OpenLimits(options.open_commands, options.open_bytes),
            metrics=options.metrics,
        )

    def consume(self, settings: ConsumeSettings[W], invoke: HandlerRunner[W]) -> Consumption[W]:
        consumption = Consumption(self.base, settings, invoke)
        self._consumers.add(consumption)
        self._background.start(self._forget(consumption))
        return consumption

    def produce(self, settings: ProducerSettings) -> Production:
        if self.is_closing:
            # Nobody would close it, nor its spool.
            raise client_closed()
        production = Production(self.base, settings, self._producers.discard)
        self._producers.add(production)
        return production

    def lead(self, settings: LeadSettings, runner: CareerRunner[W]) -> LeadershipCore[W]:
        if self.is_closing:
            # Nobody would hand over.
            raise client_closed()
        leadership = LeadershipCore(self._lead_link, settings, runner, self.base.loop, self._leaderships.discard)
        if not leadership.ended.is_set():
            self._leaderships.add(leadership)
        return leadership

    async def close(self, timeout: float | None, closer: object = None) -> None:
        """Stop consumers and leaders, close producers, then refuse what is still open. Twice is fine.

        `closer`: who works under a turn of its own and is not waited for; None: this task.
        """
        check_loop(self.base.loop)
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._close(timeout, closer or asyncio.current_task()))
        await asyncio.shield(self._closing)

    @property
    def is_closing(self) -> bool:
        return self._closing is not None

    async def _close(self, timeout: float | None, closer: object) -> None:
        consumers = list(self._consumers)
        limit = None if timeout is None else min(timeout, LONGEST_CLOSE)
        for consumer in consumers:
            consumer.stop(DEFAULT_STOP if limit is None else limit)
        leaderships = list(self._leaderships)
        for leadership in leaderships:
            leadership.stop(DEFAULT_LEAD_STOP if limit is None else limit)
        # What one of them raises must not keep the rest open.
        ended = await asyncio.gather(
            *(consumer.finish() for consumer in consumers),
            *(leadership.finish() for leadership in leaderships),
            *(producer.close(limit) for producer in list(self._producers)),
            return_exceptions=True,
        )
        await self._let_go(closer)
        for error in ended:
            if error is not None:
                raise error

    async def _let_go(self, closer: object) -> None:
        await self._lead_link.close()
        await self.base.call_off()
        # What goes back needs the transport.
        await self.base.settled(LEAVING)
        self.transport.call_off()
        await self.base.blocks_ended(closer)
        await self.transport.close()
        await self.base.settled()
        await self._unary.close()
        await self._connection.close()
        await self._background.ended()

    async def _forget(self, consumption: Consumption[Any]) -> None:
        await consumption.ended.wait()
        self._consumers.discard(consumption)
