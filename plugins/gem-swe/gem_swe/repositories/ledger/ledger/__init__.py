"""Double-entry bookkeeping for small journals."""

from .accounts import Account, AccountError, Chart
from .book import Book, BookError, RegisterLine
from .budget import Budget, BudgetError, BudgetLine
from .journal import ParseError, load
from .money import AmountError, CurrencyError, LedgerError, Money, parse_money
from .reconcile import ReconcileError, Reconciler
from .reports import balance_report, trial_report
from .transactions import Posting, Transaction, UnbalancedError, build

__all__ = [
    "Account", "AccountError", "AmountError", "Book", "BookError", "Budget", "BudgetError",
    "BudgetLine", "Chart", "CurrencyError", "LedgerError", "Money", "ParseError",
    "Posting", "ReconcileError", "Reconciler", "RegisterLine", "Transaction", "UnbalancedError",
    "balance_report", "build", "load", "parse_money", "trial_report",
]  # fmt: skip
