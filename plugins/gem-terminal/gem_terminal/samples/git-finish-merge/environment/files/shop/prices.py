"""Prices of the shop."""


def price(amount):
    return round(amount, 2)
