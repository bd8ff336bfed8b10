"""Task folders in others' formats, about a small shop that we have made up."""

import copy
import json
from pathlib import Path

from gem_core.errors import DataError
from gem_tau.readers import retail

USERS = {
    "nora_berg_1": {
        "user_id": "nora_berg_1",
        "name": {"first_name": "Nora", "last_name": "Berg"},
        "address": {
            "address1": "1 Mill Lane",
            "address2": "",
            "city": "Bergen",
            "country": "Norway",
            "state": "VL",
            "zip": "50032",
        },
        "email": "nora@example.com",
        "payment_methods": {
            "gift_card_1": {"source": "gift_card", "balance": 90, "id": "gift_card_1"},
            "paypal_1": {"source": "paypal", "id": "paypal_1"},
        },
        "orders": ["#W1", "#W2"],
    }
}
PRODUCTS = {
    "10": {
        "name": "Kettle",
        "product_id": "10",
        "variants": {
            "101": {
                "item_id": "101",
                "options": {"colour": "red"},
                "available": True,
                "price": 25.5,
            },
            "102": {
                "item_id": "102",
                "options": {"colour": "blue"},
                "available": True,
                "price": 30,
            },
        },
    }
}


def _order(order_id: str, status: str) -> dict:
    return {
        "order_id": order_id,
        "user_id": "nora_berg_1",
        "address": copy.deepcopy(USERS["nora_berg_1"]["address"]),
        "items": [
            {
                "name": "Kettle",
                "product_id": "10",
                "item_id": "101",
                "price": 25.5,
                "options": {"colour": "red"},
            }
        ],
        "fulfillments": [],
        "status": status,
        "payment_history": [
            {
                "transaction_type": "payment",
                "amount": 25.5,
                "payment_method_id": "paypal_1",
            }
        ],
    }


ORDERS = {"#W1": _order("#W1", "pending"), "#W2": _order("#W2", "delivered")}
SHOP = {"users": USERS, "products": PRODUCTS, "orders": ORDERS}
CANCEL = {"order_id": "#W1", "reason": "no longer needed"}
FIND = {"first_name": "Nora", "last_name": "Berg", "zip": "50032"}

MODULE = '''
"""Tasks."""

from tau_bench.types import Action, Task

TASKS_TEST = [
    Task(
        annotator="0",
        user_id="nora_berg_1",
        instruction="Your name is Nora Berg in 50032. You want to cancel order #W1, as you no "
        "longer need it. You ask what the total refund is.",
        actions=[
            Action(
                name="find_user_id_by_name_zip",
                kwargs={"first_name": "Nora", "last_name": "Berg", "zip": "50032"},
            ),
            Action(
                name="cancel_pending_order",
                arguments={"order_id": "#W1", "reason": "no longer needed"},
            ),
            Action(name="respond", kwargs={"content": "25.5"}),
        ],
        outputs=["25.5"],
    ),
    Task(user_id="nora_berg_1", instruction="You want a free kettle.", actions=[], outputs=[]),
]
'''


def tau1_folder(root: Path, modules: dict[str, str] | None = None) -> Path:
    """Write a checkout of tau-bench 1 with a shop; return the folder of its domain."""
    folder = root / "tau_bench" / "envs" / "retail"
    (folder / "data").mkdir(parents=True)
    for table, records in SHOP.items():
        (folder / "data" / f"{table}.json").write_text(json.dumps(records))
    (folder / "wiki.md").write_text("Only cancel pending orders.")
    for name, text in (modules or {"tasks_test.py": MODULE}).items():
        (folder / name).write_text(text)
    return folder


def tau2_task(task_id: str = "a", **changes) -> dict:
    """Return a task of tau2-bench; an ellipsis as a value takes a field out."""
    task = {
        "id": task_id,
        "description": {"purpose": "Cancel an order.", "notes": None},
        "user_scenario": {
            "persona": None,
            "instructions": {
                "domain": "retail",
                "reason_for_call": "You want to cancel your order #W1.",
                "known_info": "You are Nora Berg, and your zip code is 50032.",
                "unknown_info": "You do not remember your email address.",
                "task_instructions": "If asked for a reason, you no longer need it.",
            },
        },
        "initial_state": None,
        "evaluation_criteria": {
            "actions": [
                {
                    "action_id": "0",
                    "name": "find_user_id_by_name_zip",
                    "arguments": FIND,
                    "info": None,
                },
                {"action_id": "1", "name": "cancel_pending_order", "arguments": CANCEL},
            ],
            "communicate_info": ["25.5"],
            "nl_assertions": None,
            "reward_basis": ["DB", "COMMUNICATE"],
        },
    }
    task |= changes
    return {key: value for key, value in task.items() if value is not ...}


def with_criteria(**changes) -> dict:
    """Return a task whose criteria are changed."""
    task = tau2_task()
    task["evaluation_criteria"] |= changes
    return task


def tau2_folder(root: Path, tasks=None, splits=None, db=None, domain: str = "retail") -> Path:
    """Write a checkout of tau2-bench with a shop; return the folder of its domain."""
    folder = root / "data" / "tau2" / "domains" / domain
    folder.mkdir(parents=True)
    (folder / "db.json").write_text(json.dumps(SHOP if db is None else db))
    (folder / "policy.md").write_text("Only cancel pending orders.")
    tasks = [tau2_task()] if tasks is None else tasks
    (folder / "tasks.json").write_text(json.dumps(tasks))
    if splits is not None:
        (folder / "split_tasks.json").write_text(json.dumps(splits))
    return folder


def tasks_or_refusal(root: Path) -> tuple[list, str]:
    """Return the tasks of a shop, or the message of the ``DataError``."""
    try:
        return retail(root).tasks, ""
    except DataError as error:
        return [], str(error)


def play(env, agent, **options):
    """Play an episode; return its last step."""
    observation, info = env.reset(seed=0, **options)
    agent.reset(env)
    while True:
        step = env.step(agent.act(observation, info))
        if step.terminated or step.truncated:
            return step
        observation, info = step.observation, step.info
