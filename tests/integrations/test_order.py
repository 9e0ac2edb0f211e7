"""The order of samples: any place of an epoch is found by itself, and is the same in every release."""

from __future__ import annotations

import pytest

from streamtok.integrations.order import Order


@pytest.mark.parametrize("buffer", [0, 1, 2, 70, 300, 1000])
def test_every_sample_is_given_once_from_any_place(buffer):
    order = Order(300, buffer, 7, 1)
    whole = order.samples(0, 300).tolist()
    assert sorted(whole) == [*range(300)] and (whole == [*range(300)]) == (buffer < 2)
    assert all(order.samples(at, 300).tolist() == whole[at:] for at in (299, 150, 69, 1))


def test_an_order_stays_the_same_over_releases():
    assert Order(1000, 640, 3, 2).samples(490, 500).tolist() == [472, 427, 363, 480, 529, 861, 981, 75, 808, 927]
