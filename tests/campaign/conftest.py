"""A campaign to work on."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.campaign.sample import Site
from tests.certificates.conftest import Keys


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path, Keys(Ed25519PrivateKey.generate()), Keys(Ed25519PrivateKey.generate()))
