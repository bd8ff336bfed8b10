#!/bin/bash
set -e
cd /app/shop
cat > prices.py <<'END'
"""Prices of the shop."""

TAX = 20


def price(amount, discount=0):
    return round(amount * (100 + TAX) / 100 * (100 - discount) / 100, 2)
END
git add prices.py
git commit -q -m "Merge discounts"
