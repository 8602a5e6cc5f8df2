"""Whether an address is this machine's own: private texts go nowhere else unless that was allowed."""

import ipaddress
from urllib.parse import urlsplit


def is_loopback(url: str) -> bool:
    """Return whether a URL leads to this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
