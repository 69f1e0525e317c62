"""The same batch through an ``ssh`` process: for hosts that need what paramiko lacks (hardware keys, old algorithms, ProxyCommand)."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from checks.phrase import say
from kvgate.errors import CannotTell, HostKeyRefused, TimedOut, Unreachable
from kvgate.inventory.model import Host
from kvgate.transport import process
from kvgate.transport.link import Bounds, Deadlines, Ending, Outcome
from kvgate.transport.reasons import said

_PRESENTED = re.compile(rb"^kvgate-host-key (\S+) (SHA256:\S+)\r?\n", re.MULTILINE)
#: OpenSSH asks this command for the host's key and hands it the one presented (%t %K) with its fingerprint (%f). It answers
#: with that key when the fingerprint is the pinned one, else with nothing; ssh itself then verifies the host's signature.
_KNOWN = (
    '/bin/sh -c \'test "$2" = NONE && exit 0; echo kvgate-host-key "$3" "$2" >&2; '
    'test "$2" = {pin} && echo "$1 $3 $4"; exit 0\' kvgate %H %f %t %K'
)
_FAMILIES = (
    "",
    "ssh-ed25519",
    "ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521",
    "rsa-sha2-512,rsa-sha2-256,ssh-rsa",
)


class OpenSshLink:
    """One host through ``ssh``; every execution is a login of its own."""

    def __init__(
        self, name: str, host: Host, user: str | None, identity: Path | None, config: Path | None, deadlines: Deadlines
    ) -> None:
        self._name, self._host, self._user, self._deadlines = name, host, user, deadlines
        self._identity, self._config = identity, config
        self._family = ""
        self.host_key = ""

    def execute(
        self, command: str, stdin: bytes, bounds: Bounds, finished: Callable[[bytearray], bool] | None = None
    ) -> Outcome:
        """Run ``command`` on the host. Raises CannotTell when ssh could not log in."""
        first: Outcome | None = None
        seen = self.host_key = ""
        for family in [self._family, *(f for f in _FAMILIES if f != self._family)]:
            if seen and seen in family.split(","):
                continue
            outcome = self._once(family, command, stdin, bounds, finished)
            presented = dict(_PRESENTED.findall(bytes(outcome.stderr)))  # key type -> fingerprint
            outcome.stderr = bytearray(_PRESENTED.sub(b"", bytes(outcome.stderr)))
            if self._host.host_key.encode() in presented.values():
                self._family, self.host_key = family, self._host.host_key
                first = None
                break
            first = first or outcome
            if not seen and not presented:
                break  # no key exchange took place: ssh itself says why
            for kind, fingerprint in () if seen else presented.items():
                seen, self.host_key = kind.decode(), fingerprint.decode()
        outcome = first or outcome
        if outcome.status == 255 or outcome.ending is Ending.SILENT:
            self._explain(outcome)
        return outcome

    def _once(
        self, family: str, command: str, stdin: bytes, bounds: Bounds, finished: Callable[[bytearray], bool] | None
    ) -> Outcome:
        ssh = shutil.which("ssh")
        if ssh is None:
            raise Unreachable(
                say(
                    "{name}: 'ssh: openssh' needs the program ssh on this machine; install openssh-client",
                    name=self._name,
                )
            )
        environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "SSH_ASKPASS", "WAYLAND_DISPLAY")}
        environment["SSH_ASKPASS_REQUIRE"] = "never"
        return process.execute(
            [ssh, *self._options(family), "--", self._host.address, command], stdin, bounds, finished, environment
        )

    def _options(self, family: str) -> list[str]:
        options = {
            "BatchMode": "yes",
            "StrictHostKeyChecking": "yes",
            "UserKnownHostsFile": "/dev/null",
            "GlobalKnownHostsFile": "/dev/null",
            "KnownHostsCommand": _KNOWN.format(pin=self._host.host_key),
            "FingerprintHash": "sha256",
            "CheckHostIP": "no",
            "UpdateHostKeys": "no",
            "VerifyHostKeyDNS": "no",
            "ConnectTimeout": str(max(1, round(self._deadlines.connect))),
            "ConnectionAttempts": "1",
            "ServerAliveInterval": "5",
            "ServerAliveCountMax": "3",
            "ControlMaster": "no",
            "ControlPath": "none",
            "ForwardAgent": "no",
            "ForwardX11": "no",
            "ClearAllForwardings": "yes",
            "PermitLocalCommand": "no",
            "RequestTTY": "no",
            "RemoteCommand": "none",
            "NumberOfPasswordPrompts": "0",
            "LogLevel": "ERROR",
        }
        if family:
            options["HostKeyAlgorithms"] = family
        argv = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        argv += ["-F", str(self._config)] if self._config else []
        argv += ["-i", str(self._identity)] if self._identity else []
        argv += ["-l", self._user] if self._user else []
        return argv + (["-p", str(self._host.port)] if self._host.port != 22 else [])

    def _explain(self, outcome: Outcome) -> None:
        """Raise what ssh's own words mean; return when the words are those of the remote command."""
        words, name = said(outcome.stderr), self._name
        if self.host_key and self.host_key != self._host.host_key:
            raise HostKeyRefused(
                say(
                    "{endpoint} presents the host key {presented}, the inventory pins {wanted}: another machine answers there, or "
                    "it was installed anew; compare at its console with 'ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub' "
                    "before 'host_key' is changed",
                    endpoint=name,
                    presented=self.host_key,
                    wanted=str(self._host.host_key),
                ),
                self.host_key,
            )
        error: CannotTell
        if re.search(r"bad configuration option: knownhostscommand", words, re.IGNORECASE):
            error = Unreachable(
                say(
                    "{name}: 'ssh: openssh' needs OpenSSH 8.5 or newer on this machine; the host key cannot be pinned",
                    name=name,
                )
            )
        elif "Host key verification failed" in words:
            error = HostKeyRefused(
                say(
                    "{name}: ssh refused the host key of a jump host: {words}; log in to that once by hand",
                    name=name,
                    words=words,
                ),
                "",
            )
        elif "Permission denied" in words or "Too many authentication failures" in words:
            error = Unreachable(
                say(
                    "{name} denied the login of user {what}: {words}",
                    name=name,
                    what=self._user or "by ssh configuration",
                    words=words,
                )
            )
        elif "timed out" in words or outcome.ending is Ending.SILENT:
            error = TimedOut(
                say(
                    "{name}: ssh got no answer within {seconds:.0f} s: {what}",
                    name=name,
                    seconds=outcome.seconds,
                    what=words or "it said nothing",
                )
            )
        elif not outcome.stdout and words:
            error = Unreachable(say("{name}: ssh found no way: {words}", name=name, words=words))
        else:
            outcome.ending = Ending.LOST
            return
        if outcome.stdout:
            outcome.ending = Ending.LOST if outcome.ending is Ending.EXITED else outcome.ending
            return
        raise error
