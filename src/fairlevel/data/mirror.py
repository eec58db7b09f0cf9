"""Send requests for OpenML to another server, while a context is open."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPResponse
from urllib.parse import urlsplit, urlunsplit

OPENML = "openml.org"


def belongs_to_openml(url: str) -> bool:
    """Whether the host is openml.org or one of its subdomains."""
    host = urlsplit(url).hostname or ""
    return host == OPENML or host.endswith(f".{OPENML}")


class _Redirect(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    """Replaces the server in requests to OpenML; path and query stay the same."""

    def __init__(self, base: str) -> None:
        super().__init__()
        self.base = urlsplit(base)

    def https_open(self, req: urllib.request.Request) -> HTTPResponse:
        if not belongs_to_openml(req.full_url):
            return urllib.request.HTTPSHandler.https_open(self, req)
        parts = urlsplit(req.full_url)
        path = self.base.path.rstrip("/") + parts.path
        target = urlunsplit((self.base.scheme, self.base.netloc, path, parts.query, ""))
        with_headers = urllib.request.Request(target, headers=dict(req.header_items()))
        with_headers.timeout = req.timeout
        return (
            urllib.request.HTTPSHandler.https_open(self, with_headers)
            if self.base.scheme == "https"
            else self.http_open(with_headers)
        )


@contextmanager
def mirrored(base: str | None) -> Iterator[None]:
    """Inside this context, requests to OpenML go to ``base``, such as http://localhost:8080; None changes nothing.

    scikit-learn's client uses the URL opener of the whole process, so it is replaced here; afterwards the opener that
    was installed before is installed again.
    """
    if base is None:
        yield
        return
    before = urllib.request._opener  # type: ignore[attr-defined]
    urllib.request.install_opener(urllib.request.build_opener(_Redirect(base)))
    try:
        yield
    finally:
        urllib.request.install_opener(before)
