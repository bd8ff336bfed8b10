"""The phone of a mobile operator's customer: the tools of the user, and the faults of a phone.

Names, parameters and effects are those of the telecom domain of tau2 (MIT); what a tool shows is
worded here, with the terms of tau2's manual, such as "Airplane Mode" and "No Signal".
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from gem_tau.database import Record
from gem_tau.domains.telecom.errands import errands_in
from gem_tau.domains.telecom.records import USER, TelecomRecords
from gem_tau.toolkit import Errand, ToolFailure, UserToolkit, read, write

__all__ = ["PhoneTools"]

Mode = Literal["4g_5g_preferred", "4g_only", "3g_only", "2g_only"]
_TECHNOLOGY = {"4g_5g_preferred": "5G", "4g_only": "4G", "3g_only": "3G", "2g_only": "2G"}
_OFFLINE = {
    "network_connection_status": "no_service",
    "network_technology_connected": "none",
    "network_signal_strength": "none",
}
_NO_WIFI = {"wifi_connected": False, "wifi_ssid": None, "wifi_signal_strength": "none"}
_APN = {
    "apn_name": "internet",
    "reset_at_reboot": False,
    "mms_apn": "mms",
    "mmsc_url": "http://mms.carrier.com/mms/wapenc",
    "mms_proxy": None,
    "mms_port": None,
}
_VPN = {
    "server_address": "192.168.1.1",
    "protocol": "OpenVPN",
    "server_performance": "excellent",
}
_NO_PERMISSIONS = {"sms": False, "storage": False, "phone": False, "network": False}
_MEAN_SPEED = {"2G": 0.25, "3G": 3.0, "4G": 55.0, "5G": 275.0}
"""Megabits a second with an excellent signal."""
_SIGNAL_FACTOR = {"poor": 0.2, "fair": 0.5, "good": 0.8, "excellent": 1.0}
_SPEEDS = ((100, "Excellent"), (25, "Good"), (5, "Fair"), (1, "Poor"), (0, "Very Poor"))
"""The lowest speed of each grade."""


class PhoneTools(UserToolkit, TelecomRecords):
    """The tools of the customer; see ``gem_tau.domains.telecom.records`` for the records."""

    start: ClassVar[Mapping[str, Record]] = {
        "device": {
            "sim_card_status": "active",
            "sim_card_missing": False,
            "airplane_mode": False,
            "network_signal_strength": "good",
            "network_technology_connected": "5G",
            "network_connection_status": "connected",
            "battery_level": 80,
            "data_enabled": True,
            "roaming_enabled": False,
            "network_mode_preference": "4g_5g_preferred",
            "active_apn_settings": _APN,
            "wifi_enabled": False,
            **_NO_WIFI,
            "wifi_calling_enabled": False,
            "wifi_calling_mms_over_wifi": False,
            "data_saver_mode": False,
            "vpn_enabled_setting": False,
            "vpn_connected": False,
            "vpn_details": None,
            "app_statuses": {
                "messaging": {
                    "app_name": "messaging",
                    "permissions": _NO_PERMISSIONS | {"sms": True, "storage": True, "phone": True},
                },
                "browser": {
                    "app_name": "browser",
                    "permissions": _NO_PERMISSIONS | {"network": True, "storage": True},
                },
            },
        },
        "surroundings": {
            "name": None,
            "phone_number": None,
            "is_abroad": False,
            "roaming_allowed": False,
            "signal_strength": {"2G": "poor", "3G": "fair", "4G": "good", "5G": "excellent"},
            "mobile_data_usage_exceeded": False,
            "line_active": True,
            "payment_request": None,
        },
    }

    @classmethod
    def errands_in(cls, message: str) -> list[Errand]:
        """Return the calls that a message asks for, by name or in common words."""
        return errands_in(message, super().errands_in)

    @read
    def check_status_bar(self) -> str:
        """Look at the top of your screen: signal, network, mobile data, Wi-Fi, VPN and battery."""
        phone = self._phone
        icons = ["Airplane Mode"] if phone["airplane_mode"] else self._network_icons()
        if phone["wifi_enabled"] and phone["wifi_connected"]:
            icons.append(f"Wi-Fi connected to {phone['wifi_ssid'] or 'a network'}")
        if phone["vpn_connected"]:
            icons.append("VPN Connected")
        icons.append(f"Battery {phone['battery_level']}%")
        return f"Status bar: {' | '.join(icons)}"

    @read
    def check_network_status(self) -> str:
        """Look at airplane mode, the SIM card, the cellular network, mobile data and Wi-Fi."""
        phone = self._phone
        rows = {
            "Airplane Mode": _on(phone["airplane_mode"]),
            "SIM card": self._sim(),
            "Cellular connection": phone["network_connection_status"],
            "Signal": phone["network_signal_strength"],
            "Network type": phone["network_technology_connected"],
            "Mobile data": _on(phone["data_enabled"]),
            "Data Roaming": _on(phone["roaming_enabled"]),
            "Wi-Fi": _on(phone["wifi_enabled"]),
            "Wi-Fi connected": "yes" if phone["wifi_connected"] else "no",
        }
        return "\n".join(f"{name}: {value}" for name, value in rows.items())

    @read
    def check_network_mode_preference(self) -> str:
        """Look which kind of network your phone prefers."""
        return f"Preferred network mode: {self._phone['network_mode_preference']}"

    @write
    def set_network_mode_preference(self, mode: Mode) -> str:
        """Change the kind of network that your phone prefers.

        Args:
            mode: The kind of network.
        """
        self._edit()["network_mode_preference"] = mode
        self.simulate_network_search()
        return self._with_status_bar(f"The preferred network mode is now {mode}.")

    @read
    def run_speed_test(self) -> str:
        """Measure the speed of your mobile data: very poor, poor, fair, good or excellent."""
        speed, grade = self._speed()
        if speed is None:
            return "The speed test failed: no connection."
        return f"The speed is {speed:.2f} Mbps: {grade}."

    @write
    def toggle_airplane_mode(self) -> str:
        """Turn airplane mode on if it is off, and off if it is on."""
        self._set_airplane_mode(on=not self._phone["airplane_mode"])
        return self._toggled("Airplane Mode", "airplane_mode")

    @read
    def check_sim_status(self) -> str:
        """Look whether your SIM card is active, missing or locked."""
        return f"The SIM card is {self._sim()}."

    @write
    def reseat_sim_card(self) -> str:
        """Take your SIM card out and put it in again."""
        self._edit()["sim_card_missing"] = False
        self.simulate_network_search()
        return self._with_status_bar("The SIM card is in again.")

    @write
    def toggle_data(self) -> str:
        """Turn mobile data on if they are off, and off if they are on."""
        self._set_data(on=not self._phone["data_enabled"])
        return self._toggled("Mobile Data", "data_enabled")

    @write
    def toggle_roaming(self) -> str:
        """Turn data roaming on if it is off, and off if it is on."""
        self._set_roaming(on=not self._phone["roaming_enabled"])
        return self._toggled("Data Roaming", "roaming_enabled")

    @read
    def check_data_restriction_status(self) -> str:
        """Look whether data saver mode limits your data."""
        return f"Data Saver Mode: {_on(self._phone['data_saver_mode'])}"

    @write
    def toggle_data_saver_mode(self) -> str:
        """Turn data saver mode on if it is off, and off if it is on."""
        self._edit()["data_saver_mode"] = not self._phone["data_saver_mode"]
        return self._toggled("Data Saver Mode", "data_saver_mode")

    @read
    def check_apn_settings(self) -> str:
        """Look at the access point of your mobile data and the address for picture messages."""
        apn = self._phone["active_apn_settings"]
        return f"APN name: {apn['apn_name']}\nMMSC URL: {apn['mmsc_url'] or 'not set'}"

    @write
    def set_apn_settings(self, apn_settings: dict[str, Any]) -> str:
        """Set the access point of your mobile data.

        Args:
            apn_settings: Any of apn_name (internet or broken), mms_apn, mmsc_url, mms_proxy and
                mms_port; the others get their defaults.
        """
        unknown = sorted(set(apn_settings) - set(_APN))
        if unknown or apn_settings.get("apn_name", "internet") not in {"internet", "broken"}:
            raise ToolFailure(f"The phone does not take these settings; it has {', '.join(_APN)}")
        self._edit()["active_apn_settings"] = _APN | apn_settings
        self.simulate_network_search()
        return self._with_status_bar("The APN settings are changed.")

    @write
    def reset_apn_settings(self) -> str:
        """Reset the access point of your mobile data at the next restart of your phone."""
        self._edit()["active_apn_settings"]["reset_at_reboot"] = True
        self.simulate_network_search()
        return self._with_status_bar("The APN settings will be reset when the phone restarts.")

    @read
    def check_wifi_status(self) -> str:
        """Look whether Wi-Fi is on, and connected to which network."""
        phone = self._phone
        if not phone["wifi_connected"]:
            return f"Wi-Fi: {_on(phone['wifi_enabled'])}, not connected"
        signal = phone["wifi_signal_strength"]
        return f"Wi-Fi: ON, connected to {phone['wifi_ssid']}, signal {signal}"

    @write
    def toggle_wifi(self) -> str:
        """Turn Wi-Fi on if it is off, and off if it is on."""
        if self._phone["airplane_mode"]:
            return self._with_status_bar("Wi-Fi cannot be changed in Airplane Mode.")
        phone = self._edit()
        phone["wifi_enabled"] = not phone["wifi_enabled"]
        if not phone["wifi_enabled"]:
            phone.update(_NO_WIFI)
        return self._toggled("Wi-Fi", "wifi_enabled")

    @read
    def check_wifi_calling_status(self) -> str:
        """Look whether your phone makes calls over Wi-Fi."""
        return f"Wi-Fi Calling: {_on(self._phone['wifi_calling_enabled'])}"

    @write
    def toggle_wifi_calling(self) -> str:
        """Turn Wi-Fi calling on if it is off, and off if it is on."""
        self._edit()["wifi_calling_enabled"] = not self._phone["wifi_calling_enabled"]
        return self._toggled("Wi-Fi Calling", "wifi_calling_enabled")

    @read
    def check_vpn_status(self) -> str:
        """Look whether your phone is connected to a VPN, and how well that performs."""
        phone = self._phone
        if phone["vpn_connected"]:
            details = phone["vpn_details"] or {}
            performance = details.get("server_performance", "unknown")
            return f"VPN: ON, connected, performance {performance}"
        return f"VPN: {_on(phone['vpn_enabled_setting'])}, not connected"

    @write
    def connect_vpn(self) -> str:
        """Connect your phone to a VPN."""
        if self._phone["vpn_connected"]:
            return "The VPN is connected already."
        self._edit().update({"vpn_connected": True, "vpn_details": dict(_VPN)})
        return self._with_status_bar("The VPN is connected.")

    @write
    def disconnect_vpn(self) -> str:
        """Disconnect your phone from the VPN."""
        if not self._phone["vpn_connected"]:
            return self._with_status_bar("There is no VPN connection.")
        self._edit().update({"vpn_connected": False, "vpn_details": None})
        return self._with_status_bar("The VPN is disconnected.")

    @read
    def check_installed_apps(self) -> str:
        """List the apps on your phone."""
        return f"Apps: {', '.join(self._phone['app_statuses'])}"

    @read
    def check_app_status(self, app_name: str) -> str:
        """Look at an app: its permissions.

        Args:
            app_name: The app, such as messaging.
        """
        return self.check_app_permissions(app_name)

    @read
    def check_app_permissions(self, app_name: str) -> str:
        """List what an app may use.

        Args:
            app_name: The app, such as messaging.
        """
        granted = [name for name, given in self._permissions(app_name).items() if given]
        return f"The app {app_name} may use: {', '.join(granted) or 'nothing'}"

    @write
    def grant_app_permission(self, app_name: str, permission: str) -> str:
        """Let an app use something.

        Args:
            app_name: The app, such as messaging.
            permission: What it may use: sms, storage, phone or network.
        """
        self._set_permission(app_name, permission, given=True)
        return self._with_status_bar(f"The app {app_name} may now use {permission.lower()}.")

    @read
    def can_send_mms(self) -> str:
        """Try whether your messaging app can send pictures."""
        can = "can" if self._sends_mms() else "cannot"
        return f"The messaging app {can} send MMS messages."

    @write
    def reboot_device(self) -> str:
        """Restart your phone."""
        phone = self._edit()
        if phone["active_apn_settings"]["reset_at_reboot"]:
            phone["active_apn_settings"] = dict(_APN)
        self.simulate_network_search()
        return self._with_status_bar("The phone has restarted.")

    @read
    def check_payment_request(self) -> str:
        """Look whether you are asked to pay a bill."""
        request = self._around["payment_request"]
        if request is None:
            return "There is no payment request."
        return f"You are asked to pay ${request['amount_due']} for the bill {request['bill_id']}."

    @write
    def make_payment(self) -> str:
        """Pay the bill that you are asked to pay."""
        if self._around["payment_request"] is None:
            return "There is no payment request."
        request = self.db.edit(USER, "surroundings")["payment_request"]
        request["paid"] = True
        return f"${request['amount_due']} are paid for the bill {request['bill_id']}."

    def set_user_info(self, name: str, phone_number: str) -> None:
        """Set who the customer is."""
        changes = {"name": name, "phone_number": phone_number}
        self.db.edit(USER, "surroundings").update(changes)

    def set_user_location(self, abroad: bool) -> None:  # noqa: FBT001 - passed by name
        """Set whether the customer is abroad."""
        self.db.edit(USER, "surroundings")["is_abroad"] = abroad

    def turn_airplane_mode_on(self) -> None:
        """Turn airplane mode on."""
        self._set_airplane_mode(on=True)

    def turn_airplane_mode_off(self) -> None:
        """Turn airplane mode off."""
        self._set_airplane_mode(on=False)

    def unseat_sim_card(self) -> None:
        """Take the SIM card out."""
        self._edit()["sim_card_missing"] = True
        self.simulate_network_search()

    def lock_sim_card(self, mode: Literal["pin", "puk"]) -> None:
        """Lock the SIM card, which no tool undoes."""
        self._edit()["sim_card_status"] = f"locked_{mode}"
        self.simulate_network_search()

    def turn_data_on(self) -> None:
        """Turn mobile data on."""
        self._edit()["data_enabled"] = True

    def turn_data_off(self) -> None:
        """Turn mobile data off."""
        self._set_data(on=False)

    def turn_roaming_on(self) -> None:
        """Turn data roaming on."""
        self._set_roaming(on=True)

    def turn_roaming_off(self) -> None:
        """Turn data roaming off."""
        self._set_roaming(on=False)

    def turn_data_saver_mode_on(self) -> None:
        """Turn data saver mode on."""
        self._edit()["data_saver_mode"] = True

    def turn_data_saver_mode_off(self) -> None:
        """Turn data saver mode off."""
        self._edit()["data_saver_mode"] = False

    def break_apn_settings(self) -> None:
        """Set an access point that does not work."""
        self._edit()["active_apn_settings"]["apn_name"] = "broken"
        self.simulate_network_search()

    def break_apn_mms_setting(self) -> None:
        """Remove the address for picture messages."""
        self._edit()["active_apn_settings"]["mmsc_url"] = None

    def set_wifi_calling(
        self,
        enabled: bool,  # noqa: FBT001 - passed by name
        mms_over_wifi: bool | None = None,  # noqa: FBT001 - passed by name
    ) -> None:
        """Set whether calls, and picture messages, go over Wi-Fi."""
        phone = self._edit()
        phone["wifi_calling_enabled"] = enabled
        if mms_over_wifi is not None:
            phone["wifi_calling_mms_over_wifi"] = mms_over_wifi

    def break_vpn(self) -> None:
        """Connect to a VPN that performs poorly."""
        phone = self._edit()
        phone["vpn_details"] = dict(phone["vpn_details"] if phone["vpn_connected"] else _VPN)
        phone["vpn_details"]["server_performance"] = "poor"
        phone["vpn_connected"] = True

    def remove_app_permission(self, app_name: str, permission: str) -> None:
        """Forbid an app to use something."""
        self._set_permission(app_name, permission, given=False)

    def simulate_network_search(self) -> None:
        """Connect to the network that the settings, the SIM card and the line allow."""
        phone, around = self._edit(), self._around
        may_connect = (
            self._sim() == "active"
            and not phone["airplane_mode"]
            and phone["active_apn_settings"]["apn_name"] != "broken"
            and around["line_active"]
        )
        if not may_connect:
            phone.update(_OFFLINE)
            return
        signals = around["signal_strength"]
        technology = _TECHNOLOGY[phone["network_mode_preference"]]
        if technology == "5G" and signals.get("5G", "none") == "none":
            technology = "4G"
        phone["network_connection_status"] = "connected"
        phone["network_technology_connected"] = technology
        phone["network_signal_strength"] = signals.get(technology, "none")

    def assert_airplane_mode_status(self, expected_status: bool) -> bool:  # noqa: FBT001
        """Return whether airplane mode is as expected."""
        return bool(self._phone["airplane_mode"] == expected_status)

    def assert_service_status(self, expected_status: str) -> bool:
        """Return whether the cellular connection is as expected."""
        return bool(self._phone["network_connection_status"] == expected_status)

    def assert_mobile_data_status(self, expected_status: bool) -> bool:  # noqa: FBT001
        """Return whether mobile data work, as expected."""
        return self._has_data() == expected_status

    def assert_mobile_roaming_status(self, expected_status: bool) -> bool:  # noqa: FBT001
        """Return whether data roaming is as expected."""
        return bool(self._phone["roaming_enabled"] == expected_status)

    def assert_mobile_data_saver_mode_status(self, expected_status: bool) -> bool:  # noqa: FBT001
        """Return whether data saver mode is as expected."""
        return bool(self._phone["data_saver_mode"] == expected_status)

    def assert_internet_speed(
        self, expected_speed: float, expected_desc: str | None = None
    ) -> bool:
        """Return whether mobile data are as fast as expected, in megabits a second."""
        speed, grade = self._speed()
        is_grade = expected_desc is None or grade.lower() == expected_desc.lower()
        return (speed or 0.0) >= expected_speed and is_grade

    def assert_internet_not_excellent(self) -> bool:
        """Return whether the speed of mobile data is less than excellent."""
        return self._speed()[1] != "Excellent"

    def assert_can_send_mms(self, expected_status: bool) -> bool:  # noqa: FBT001
        """Return whether picture messages can be sent, as expected."""
        return self._sends_mms() == expected_status

    def assert_mobile_data_usage_exceeded(self, expected_status: bool) -> bool:  # noqa: FBT001
        """Return whether the line has used up its data, as expected."""
        return bool(self._around["mobile_data_usage_exceeded"] == expected_status)

    @property
    def _phone(self) -> Record:
        return self.db.get(USER, "device")

    @property
    def _around(self) -> Record:
        return self.db.get(USER, "surroundings")

    def _edit(self) -> Record:
        return self.db.edit(USER, "device")

    def _sim(self) -> str:
        phone = self._phone
        return "missing" if phone["sim_card_missing"] else str(phone["sim_card_status"])

    def _network_icons(self) -> list[str]:
        phone = self._phone
        technology, signal = phone["network_technology_connected"], phone["network_signal_strength"]
        icons = ["No Signal" if signal == "none" else f"{signal.capitalize()} signal"]
        if technology == "none":
            return [*icons, "Data Disabled"]
        if not phone["data_enabled"]:
            return [*icons, technology, "Data Disabled"]
        saver = ["Data Saver"] if phone["data_saver_mode"] else []
        return [*icons, technology, "Data Enabled", *saver]

    def _with_status_bar(self, text: str) -> str:
        return f"{text}\n{self.check_status_bar()}"

    def _toggled(self, name: str, setting: str) -> str:
        return self._with_status_bar(f"{name} is now {_on(self._phone[setting])}.")

    def _set_airplane_mode(self, *, on: bool) -> None:
        phone = self._edit()
        phone["airplane_mode"] = on
        if on or phone["wifi_enabled"]:
            phone.update(_NO_WIFI)
        if on and phone["vpn_connected"]:
            phone.update({"vpn_connected": False, "vpn_details": None})
        self.simulate_network_search()

    def _set_data(self, *, on: bool) -> None:
        self._edit()["data_enabled"] = on
        self.simulate_network_search()

    def _set_roaming(self, *, on: bool) -> None:
        self._edit()["roaming_enabled"] = on
        self.simulate_network_search()

    def _permissions(self, app_name: str) -> Record:
        app = self._phone["app_statuses"].get(app_name)
        if app is None:
            raise ToolFailure(f"There is no app {app_name!r} on the phone")
        return app["permissions"]

    def _set_permission(self, app_name: str, permission: str, *, given: bool) -> None:
        known = self._permissions(app_name)
        if permission.lower() not in known:
            raise ToolFailure(f"There is no permission {permission!r}, only {', '.join(known)}")
        permissions = self._edit()["app_statuses"][app_name]["permissions"]
        permissions[permission.lower()] = given

    def _has_data(self) -> bool:
        phone, around = self._phone, self._around
        may_roam = phone["roaming_enabled"] and around["roaming_allowed"]
        return bool(
            not phone["airplane_mode"]
            and phone["network_signal_strength"] != "none"
            and phone["network_connection_status"] != "no_service"
            and (may_roam or not around["is_abroad"])
            and phone["data_enabled"]
            and not around["mobile_data_usage_exceeded"]
        )

    def _speed(self) -> tuple[float | None, str]:
        """Return the speed in megabits a second and its grade; None without a connection."""
        phone = self._phone
        if not self._has_data():
            return None, "No Connection"
        speed = _MEAN_SPEED.get(phone["network_technology_connected"], 0.0)
        speed *= _SIGNAL_FACTOR.get(phone["network_signal_strength"], 0.0)
        details = phone["vpn_details"] or {}
        if phone["vpn_connected"] and details.get("server_performance") == "poor":
            speed *= 0.1
        if phone["data_saver_mode"]:
            speed *= 0.2
        speed = round(speed, 2)
        return speed, next(grade for lowest, grade in _SPEEDS if speed >= lowest)

    def _sends_mms(self) -> bool:
        phone = self._phone
        over_wifi = phone["wifi_calling_enabled"] and phone["wifi_calling_mms_over_wifi"]
        app = phone["app_statuses"].get("messaging")
        return bool(
            self._has_data()
            and phone["network_technology_connected"] != "2G"
            and not over_wifi
            and phone["active_apn_settings"]["mmsc_url"] is not None
            and app is not None
            and app["permissions"]["storage"]
            and app["permissions"]["sms"]
        )


def _on(value: object) -> str:
    return "ON" if value else "OFF"
