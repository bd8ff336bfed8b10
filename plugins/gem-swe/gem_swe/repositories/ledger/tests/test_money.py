from collections.abc import Callable
from decimal import Decimal

from ledger.money import Money, decimal_places, parse_amount, parse_money


def raised(call: Callable[[], object]) -> str:
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return ""


def test_each_currency_has_its_number_of_decimals() -> None:
    assert [decimal_places(one) for one in ("EUR", "USD", "GBP", "CHF")] == [2, 2, 2, 2]
    assert decimal_places("JPY") == 0
    assert decimal_places("BHD") == 3


def test_an_unknown_currency_is_refused() -> None:
    assert raised(lambda: decimal_places("XXX")) == "CurrencyError"
    assert raised(lambda: Money.of(1, "eur")) == "CurrencyError"
    assert raised(lambda: parse_money("1 ZZZ")) == "CurrencyError"


def test_money_is_rounded_half_even_unless_told_otherwise() -> None:
    assert str(Money.of("2.665", "EUR")) == "2.66 EUR"
    assert str(Money.of("2.675", "EUR")) == "2.68 EUR"
    assert str(Money.of("-2.5", "JPY")) == "-2 JPY"
    assert str(Money.of("0.00051", "BHD")) == "0.001 BHD"


def test_half_up_rounds_ties_away_from_zero() -> None:
    assert str(Money.of("2.665", "EUR", "half-up")) == "2.67 EUR"
    assert str(Money.of("-2.5", "JPY", "half-up")) == "-3 JPY"
    assert str(Money.of("2.6649", "EUR", "half-up")) == "2.66 EUR"


def test_down_cuts_towards_zero() -> None:
    assert str(Money.of("2.669", "EUR", "down")) == "2.66 EUR"
    assert str(Money.of("-7.99", "JPY", "down")) == "-7 JPY"


def test_other_rounding_modes_are_refused() -> None:
    assert raised(lambda: Money.of("1.005", "EUR", "up")) == "AmountError"
    assert raised(lambda: Money.of(3, "USD", "")) == "AmountError"


def test_money_of_one_currency_can_be_added() -> None:
    assert str(Money.of("1.25", "EUR") + Money.of("2.80", "EUR")) == "4.05 EUR"
    assert str(Money.of(7, "JPY") + Money.of(-10, "JPY")) == "-3 JPY"


def test_money_cannot_be_changed() -> None:
    assert raised(lambda: setattr(Money.of(1, "EUR"), "currency", "USD")) == "FrozenInstanceError"
    assert raised(lambda: setattr(Money.of(1, "EUR"), "amount", 2)) == "FrozenInstanceError"


def test_currencies_do_not_mix() -> None:
    assert raised(lambda: Money.of(1, "EUR") + Money.of(1, "USD")) == "CurrencyError"
    assert raised(lambda: Money.of(0, "JPY") + Money.of(5, "EUR")) == "CurrencyError"


def test_negating_money_keeps_its_currency() -> None:
    assert str(-Money.of("3.10", "GBP")) == "-3.10 GBP"
    assert str(-Money.of("-0.500", "BHD")) == "0.500 BHD"


def test_money_is_written_with_separated_thousands() -> None:
    assert str(Money.of(1234567, "EUR")) == "1,234,567.00 EUR"
    assert str(Money.of(-1000, "JPY")) == "-1,000 JPY"
    assert str(Money.of("999.9", "USD")) == "999.90 USD"


def test_an_amount_may_have_a_sign_and_a_fraction() -> None:
    assert parse_amount("7") == Decimal(7)
    assert parse_amount("-0.25") == Decimal("-0.25")
    assert parse_amount("12.5") == Decimal("12.5")


def test_commas_may_separate_groups_of_three_digits() -> None:
    assert parse_amount("1,234.50") == Decimal("1234.50")
    assert parse_amount("-123,456,789") == Decimal(-123456789)
    assert parse_amount("12,000") == Decimal(12000)
    assert parse_amount("1234567") == Decimal(1234567)


def test_misplaced_commas_are_refused() -> None:
    assert raised(lambda: parse_amount("1234,567")) == "AmountError"
    assert raised(lambda: parse_amount(",123")) == "AmountError"
    assert raised(lambda: parse_amount("1,23")) == "AmountError"
    assert raised(lambda: parse_amount("1,234,5678")) == "AmountError"
    assert raised(lambda: parse_amount("1,2345,678")) == "AmountError"


def test_digits_are_needed_on_both_sides_of_a_point() -> None:
    assert raised(lambda: parse_amount(".5")) == "AmountError"
    assert raised(lambda: parse_amount("5.")) == "AmountError"
    assert raised(lambda: parse_amount("1.2.3")) == "AmountError"
    assert raised(lambda: parse_amount("-")) == "AmountError"


def test_other_signs_make_no_amount() -> None:
    assert raised(lambda: parse_amount("+5")) == "AmountError"
    assert raised(lambda: parse_amount("1e3")) == "AmountError"
    assert raised(lambda: parse_amount("--1")) == "AmountError"


def test_money_is_read_with_its_currency() -> None:
    assert str(parse_money("12.50 EUR")) == "12.50 EUR"
    assert str(parse_money("  -1,000   JPY ")) == "-1,000 JPY"


def test_a_default_currency_is_used_where_none_is_written() -> None:
    assert str(parse_money("3", "USD")) == "3.00 USD"
    assert str(parse_money("3 GBP", "USD")) == "3.00 GBP"
    assert raised(lambda: parse_money("3")) == "AmountError"


def test_money_text_has_at_most_two_words() -> None:
    assert raised(lambda: parse_money("1 EUR USD")) == "AmountError"
    assert raised(lambda: parse_money("", "EUR")) == "AmountError"
    assert raised(lambda: parse_money("1 EUR cash", "EUR")) == "AmountError"


def test_numbers_finer_than_the_smallest_unit_are_refused() -> None:
    assert raised(lambda: parse_money("1.005 EUR")) == "AmountError"
    assert raised(lambda: parse_money("0.5 JPY")) == "AmountError"
    assert str(parse_money("1.500 EUR")) == "1.50 EUR"
    assert str(parse_money("1.005 BHD")) == "1.005 BHD"
