"""Ports of the loopback that are this process's own until it ends: sockets hold them, and nobody listens."""

import socket

HOLDERS = []


def held_port(number=1):
    """The first of `number` ports in a row. No bind() and no connection of any process is given them. A listener that sets SO_REUSEADDR, as ours do, shares them."""
    while True:
        holders = [socket.socket() for _ in range(number)]
        try:
            holders[0].bind(("127.0.0.1", 0))
            port = holders[0].getsockname()[1]
            for i, holder in enumerate(holders[1:], 1): holder.bind(("127.0.0.1", port + i))
        except (OSError, OverflowError):
            continue
        for holder in holders: holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # after bind(), which chose for us alone
        HOLDERS.extend(holders)
        return port
