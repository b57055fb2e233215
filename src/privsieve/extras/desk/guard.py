"""Guard: refuse requests that do not come from the user of the desk.

A request must name this machine as its host, and hold the token: in the address once, then in a
cookie that the browser sends from the desk's own pages only.  A request that changes something must
come from the desk's own pages.
"""

from __future__ import annotations

from secrets import compare_digest
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

#: A page of the desk may load its own style, and nothing from another host.
POLICY = ("default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
          "base-uri 'none'; frame-ancestors 'none'")
_HEADERS = {
    "content-security-policy": POLICY, "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin", "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin", "cross-origin-resource-policy": "same-origin"}


class Guard:
    """Refuses requests of other hosts, other pages and other users."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self.app, self.token, self.cookie = app, token, f"desk{port}"
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            return
        answer = self._refusal(scope)
        if answer is not None:
            for name, value in _HEADERS.items():
                answer.headers[name] = value
            await answer(scope, receive, send)
            return

        async def guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                present = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(
                    (name.encode(), value.encode()) for name, value in _HEADERS.items()
                    if name.encode() not in present)]
            await send(message)

        await self.app(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        """Return the answer to a request that does not reach the desk."""
        headers = Headers(scope=scope)
        if headers.get("host") not in self.hosts:
            return PlainTextResponse("the desk answers on this machine only", 403)
        origin = headers.get("origin")
        needs = scope["method"] not in ("GET", "HEAD")
        own = {f"http://{host}" for host in self.hosts}
        if (needs or origin is not None) and origin not in own:
            return PlainTextResponse("another page sent this; use the pages of the desk", 403)
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return PlainTextResponse("another page sent this; type the address of the desk", 403)
        offered = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if scope["path"] == "/" and self._is_token(offered):
            answer = RedirectResponse("/file", 303)
            answer.set_cookie(self.cookie, self.token, httponly=True, samesite="strict")
            return answer
        if not self._is_token(cookie_parser(headers.get("cookie", "")).get(self.cookie, "")):
            return PlainTextResponse("open the address that `privsieve desk` printed", 403)
        return None

    def _is_token(self, text: str) -> bool:
        return compare_digest(text.encode("utf-8", "replace"), self.token.encode())
