"""Availability zones: which names mean a local or wavelength zone rather than a zone of the region itself."""

import re

_LOCAL_ID = re.compile(r"^[a-z]{2,5}\d-[a-z]+\d*-.*(az|wlz)\d+$")
_LOCAL_NAME = re.compile(r"^[a-z]{2}(-[a-z]+)+-\d-[a-z]+\d*-")


def is_local_zone(zone: str) -> bool:
    """True for ids like "usw2-lax1-az1" and names like "us-west-2-lax-1a" or "us-east-1-wl1-bos-wlz-1".

    Local zones belong to a region in every list, but are another place: own network, fewer types, no storage beside
    them.
    """
    return bool(_LOCAL_ID.match(zone) or _LOCAL_NAME.match(zone))
