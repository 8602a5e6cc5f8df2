"""What an address tells: whether it is on this machine, and whether it may hold a key.

Private texts go to no other machine unless the user allows it, and runs store their settings.
"""

import ipaddress
from urllib.parse import urlsplit


def is_loopback(url: str) -> bool:
    """Return whether a URL points to this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def may_hold_key(url: str) -> bool:
    """Return whether an address has more than host, port and path: a user, a password, a query."""
    return "@" in urlsplit(url).netloc or "?" in url or "#" in url
