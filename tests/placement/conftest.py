"""Builders, and the reasons of a placement."""

import pytest

from tests.builders import Make


@pytest.fixture(scope="session")
def make() -> Make:
    return Make()


@pytest.fixture(scope="session")
def reasons():
    """Reason by offer of a placement; fails when an offer has two."""

    def of(placement) -> dict[str, str]:
        found: dict[str, str] = {}
        for rejection in placement.rejections:
            for offer in rejection.offers:
                assert offer not in found, offer
                found[offer] = rejection.reason
        return found

    return of
