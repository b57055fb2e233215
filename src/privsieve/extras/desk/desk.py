"""`privsieve desk`: do the work of the command line on pages in a browser of this machine."""

from __future__ import annotations

import secrets
import socket
from typing import Annotated

import click

from privsieve.cli.verb import verb
from privsieve.entries import import_library
from privsieve.errors import ParameterError


@verb("hospital")
def command(folder: Annotated[str, "DIR"] = ".", *, port: Annotated[int | None, "N"] = None,
            ) -> None:
    """Serve pages for your browser that work on the tables in FOLDER, instead of commands.

    Only programs of this machine reach the desk, and only with the address that this command
    prints.  The desk reads and writes files in FOLDER and nowhere else.  Ctrl-C ends it.

    port : the port of the address; default: a free one
    """
    from pathlib import Path

    from privsieve.extras.desk.app import desk_app

    server = import_library("uvicorn", "desk", "the desk")
    place = Path(folder)
    if not place.is_dir():
        raise ParameterError("the folder of the desk does not exist; name the folder of your table")
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port or 0))
            listener.listen()  # so that the printed address answers at once
        except (OSError, OverflowError):
            raise ParameterError(f"port {port} is not free; leave --port out") from None
        token, number = secrets.token_urlsafe(32), listener.getsockname()[1]
        click.echo(f"http://127.0.0.1:{number}/?token={token}")
        click.echo("Open this address in a browser of this machine. Ctrl-C ends the desk.",
                   err=True)
        config = server.Config(desk_app(place, token, number), log_config=None, access_log=False,
                               server_header=False, lifespan="off")
        server.Server(config).run(sockets=[listener])
