"""A list of tasks: the tools of its assistant and of its user.

Names, parameters and effects are those of the domain ``mock`` of tau2 (MIT).
"""

from typing import Literal

from gem_tau.database import Record
from gem_tau.toolkit import ToolFailure, Toolkit, UserToolkit, read, write

__all__ = ["MockTools", "NotificationTools"]

Status = Literal["pending", "completed"]


class MockTools(Toolkit):
    """The tools of the assistant, over the tables ``tasks`` and ``users``."""

    @read
    def get_users(self) -> list[Record]:
        """List all users, with the ids of their tasks."""
        return [user for _, user in self.db.records("users")]

    @write
    def create_task(self, user_id: str, title: str, description: str | None = None) -> Record:
        """Create a pending task for a user.

        Args:
            user_id: The id of the user.
            title: The title of the task.
            description: What is to be done.
        """
        self._user(user_id)
        task_id = f"task_{len(list(self.db.records('tasks'))) + 1}"
        task = {"task_id": task_id, "title": title, "description": description, "status": "pending"}
        if self.db.get("tasks", task_id) is not None:
            raise ToolFailure(f"There is a task {task_id!r} already")
        self.db.insert("tasks", task_id, task)
        self.db.edit("users", user_id)["tasks"].append(task_id)
        return task

    @write
    def update_task_status(self, task_id: str, status: Status) -> Record:
        """Set the status of a task.

        Args:
            task_id: The id of the task.
            status: The new status.
        """
        self._task(task_id)
        task = self.db.edit("tasks", task_id)
        task["status"] = status
        return task

    def assert_number_of_tasks(self, user_id: str, expected_number: int) -> bool:
        """Return whether a user has a number of tasks."""
        user = self.db.get("users", user_id)
        return user is not None and len(user["tasks"]) == expected_number

    def assert_task_status(self, task_id: str, expected_status: Status) -> bool:
        """Return whether a task has a status; a task that is not there has none."""
        task = self.db.get("tasks", task_id)
        return task is not None and bool(task["status"] == expected_status)

    def _user(self, user_id: str) -> Record:
        user = self.db.get("users", user_id)
        if user is None:
            raise ToolFailure(f"There is no user {user_id!r}")
        return user

    def _task(self, task_id: str) -> Record:
        task = self.db.get("tasks", task_id)
        if task is None:
            raise ToolFailure(f"There is no task {task_id!r}")
        return task


class NotificationTools(UserToolkit):
    """The tools of the user: notifications about tasks."""

    start = {"notifications": {}}  # noqa: RUF012 - declared in the base

    @read
    def check_notifications(self) -> list[Record]:
        """List your notifications."""
        return list(self._notifications().values())

    def _notifications(self) -> Record:
        return self.db.get("user", "notifications")

    @write
    def dismiss_notification(self, notification_id: str) -> str:
        """Mark a notification as read.

        Args:
            notification_id: The id of the notification.
        """
        notifications = self.db.edit("user", "notifications")
        if notification_id not in notifications:
            raise ToolFailure(f"There is no notification {notification_id!r}")
        notifications[notification_id]["status"] = "read"
        return f"The notification {notification_id} is marked as read."

    def add_notification(
        self, notification_id: str, message: str, task_id: str | None = None
    ) -> None:
        """Add an unread notification."""
        self.db.edit("user", "notifications")[notification_id] = {
            "notification_id": notification_id,
            "message": message,
            "status": "unread",
            "task_id": task_id,
        }

    def assert_notification_status(self, notification_id: str, expected_status: str) -> bool:
        """Return whether a notification has a status; one that is not there has none."""
        found = self._notifications().get(notification_id, {})
        return bool(found.get("status") == expected_status)
