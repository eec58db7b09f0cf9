"""Asking another server for what belongs to OpenML."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPResponse
from urllib.parse import urlsplit, urlunsplit

OPENML = "openml.org"


class _Redirect(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    """Sends requests to OpenML's hosts to another address, path and query kept."""

    def __init__(self, base: str) -> None:
        super().__init__()
        self.base = urlsplit(base)

    def https_open(self, req: urllib.request.Request) -> HTTPResponse:
        parts = urlsplit(req.full_url)
        if not (parts.hostname or "").endswith(OPENML):
            return urllib.request.HTTPSHandler.https_open(self, req)
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
    """Within this context OpenML is at ``base``, such as http://localhost:8080; None changes nothing."""
    if base is None:
        yield
        return
    urllib.request.install_opener(urllib.request.build_opener(_Redirect(base)))
    try:
        yield
    finally:
        urllib.request.install_opener(urllib.request.build_opener())
