"""Signing through ssh-agent: the private key never leaves it. Ed25519 gives the same bytes as the key's own file would."""

from __future__ import annotations

import paramiko

from checks.phrase import say
from kvgate.certificates.keys import SIGNATURE, PublicKey, Signer
from kvgate.errors import NotAllowed, Unproven


class AgentSigner:
    """One key that an agent holds."""

    def __init__(self, public: PublicKey, key: paramiko.AgentKey, agent: paramiko.Agent) -> None:
        self.public = public
        self._key = key
        self._agent = agent  # holds the connection open

    def __repr__(self) -> str:
        return f"AgentSigner({self.public.fingerprint})"

    def sign(self, data: bytes) -> bytes:
        """Return the signature. Raises Unproven when the agent, or the person it asks, refuses."""
        try:
            answer = paramiko.Message(self._key.sign_ssh_data(data))  # type: ignore[arg-type]  # it gives bytes
            kind, signature = answer.get_text(), answer.get_string()
        except (paramiko.SSHException, OSError, EOFError, ValueError) as error:
            raise Unproven(
                say(
                    "ssh-agent did not sign with {fingerprint}: {error!s:.120}",
                    fingerprint=self.public.fingerprint,
                    error=str(error),
                )
            ) from None
        if kind != "ssh-ed25519" or len(signature) != SIGNATURE:
            raise Unproven(
                say(
                    "ssh-agent gave a signature of kind {kind!r:.40} with {signature} bytes",
                    kind=kind,
                    signature=len(signature),
                )
            )
        return signature


def agent_signer(public: PublicKey) -> Signer:
    """Return the agent's signer for one key. Raises NotAllowed when no agent answers or it does not hold the key."""
    try:
        agent = paramiko.Agent()
        held = agent.get_keys()
    except (paramiko.SSHException, OSError) as error:
        raise NotAllowed(say("ssh-agent does not answer: {error!s:.120}", error=str(error))) from None
    for key in held:
        if key.asbytes() == public.blob:
            return AgentSigner(public, key, agent)
    what = f"holds {len(held)} keys, not this one" if held else "is not running, or holds no key"
    raise NotAllowed(
        say(
            "ssh-agent {what}: add {fingerprint} with ssh-add, or name the private key with --key",
            what=what,
            fingerprint=public.fingerprint,
        )
    )
