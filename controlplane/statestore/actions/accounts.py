"""Create accounts, change their roles and passwords, grant queues."""

import datetime as dt

from django.contrib.auth import get_user_model
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import F
from knox.models import AuthToken
from knox.settings import knox_settings

from contract.problems import FieldError
from controlplane import clock
from controlplane.accounts.models import QueueAccess, Role, TokenNote, User
from controlplane.statestore.errors import Conflict, Forbidden, Invalid, NotFound

from .audit import Actor, record

NAMED_TOKENS_MAX = 50


def create(actor: Actor, username: str, password: str, role: Role = Role.TENANT) -> User:
    """A new account; ``Invalid`` when the name is taken or the password too weak."""
    model: type[User] = get_user_model()
    user = model(username=model.normalize_username(username), role=role)
    wrong = _weak(user, password)
    user.set_password(password)
    try:
        user.full_clean()
    except ValidationError as error:
        wrong = _problems(error) + wrong
    if wrong:
        raise Invalid("the account cannot be created", wrong)
    with transaction.atomic():
        user.save()
        record(actor, "account.create", f"account/{user.username}", after={"username": username, "role": str(role)})
    return user


def _problems(error: ValidationError) -> list[FieldError]:
    """Django's messages by field."""
    return [
        FieldError(name if name in {"username", "password"} else "account", message, "choose another one")
        for name, messages in error.message_dict.items()
        for message in messages
    ]


def _weak(user: User, password: str) -> list[FieldError]:
    """What speaks against the password."""
    try:
        validate_password(password, user)
    except ValidationError as error:
        return [FieldError("password", message, "choose another one") for message in error.messages]
    return []


def set_password(actor: Actor, user: User, password: str) -> None:
    """Another password; ``Invalid`` when it is too weak. Ends the account's tokens and sessions."""
    _take_password(actor, user, password, _weak(user, password))


def _take_password(actor: Actor, user: User, password: str, wrong: list[FieldError]) -> None:
    if wrong:
        raise Invalid("the password cannot be taken", wrong)
    user.set_password(password)
    with transaction.atomic():
        user.save(update_fields=["password"])
        AuthToken.objects.filter(user=user).delete()
        record(actor, "account.password", f"account/{user.username}")


def set_role(actor: Actor, user: User, role: Role) -> None:
    """Another role. ``Conflict`` for the last operator, ``Forbidden`` for one's own account."""
    _not_oneself(actor, user, "role")
    with transaction.atomic():
        if role != Role.OPERATOR:
            _another_operator(user)
        record(actor, "account.role", f"account/{user.username}", before={"role": user.role}, after={"role": str(role)})
        user.role = role
        user.save(update_fields=["role"])


def set_email(actor: Actor, user: User, email: str) -> None:
    """Another mail address; "" for none. ``Invalid`` when it is none."""
    try:
        if email:
            validate_email(email)
    except ValidationError:
        remedy = "give one such as ada@example.org, or nothing for none"
        raise Invalid("the address cannot be taken", [FieldError("email", "is no mail address", remedy)]) from None
    with transaction.atomic():
        record(actor, "account.email", f"account/{user.username}", before={"email": user.email}, after={"email": email})
        user.email = email
        user.save(update_fields=["email"])


def set_active(actor: Actor, user: User, active: bool) -> None:
    """Close or reopen an account; closing ends its tokens and sessions for good. Guarded like ``set_role``."""
    _not_oneself(actor, user, "account")
    with transaction.atomic():
        if not active:
            _another_operator(user)
            _end_all(user)
        user.is_active = active
        user.save(update_fields=["is_active"])
        record(actor, "account.active", f"account/{user.username}", after={"active": active})


def sign_out(actor: Actor, user: User) -> int:
    """End every session and token of the account; how many tokens. Its password stays."""
    with transaction.atomic():
        ended = _end_all(user)
        record(actor, "account.sign-out", f"account/{user.username}", after={"tokens": ended})
    return ended


def _end_all(user: User) -> int:
    User.objects.filter(pk=user.pk).update(sign_outs=F("sign_outs") + 1)
    user.refresh_from_db(fields=["sign_outs"])
    ended = AuthToken.objects.filter(user=user).count()
    AuthToken.objects.filter(user=user).delete()
    return ended


def _not_oneself(actor: Actor, user: User, what: str) -> None:
    """Nobody changes what they may do themselves, upwards or by a slip."""
    if actor.user_id == user.pk:
        raise Forbidden(f"nobody changes their own {what}; ask another operator")


def _another_operator(user: User) -> None:
    """``Conflict`` when this is the only open operator. The rows stay locked, so that two cannot close each other."""
    operators = list(
        User.objects.select_for_update()
        .filter(role=Role.OPERATOR, is_active=True)
        .order_by("pk")
        .values_list("pk", flat=True)
    )
    if operators == [user.pk]:
        raise Conflict(f"{user.username} is the last operator; make another account an operator first")


def grant_queue(actor: Actor, user: User, queue: str, level: QueueAccess.Level) -> None:
    """Let the account use a queue and everything below it."""
    with transaction.atomic():
        QueueAccess.objects.update_or_create(user=user, queue=queue, defaults={"level": level})
        record(actor, "account.grant", f"account/{user.username}", after={"queue": queue, "level": str(level)})
        record(actor, "queue.grant", f"queue/{queue}", after={"account": user.username, "level": str(level)})


def withdraw_queue(actor: Actor, user: User, queue: str) -> None:
    """The queue may be gone from the policy; raises ``NotFound`` when nothing was granted there."""
    with transaction.atomic():
        gone, _ = QueueAccess.objects.filter(user=user, queue=queue).delete()
        if not gone:
            raise NotFound(f"{user.username} was granted nothing in {queue[:64]!r} itself")
        record(actor, "account.withdraw", f"account/{user.username}", before={"queue": queue})
        record(actor, "queue.withdraw", f"queue/{queue}", before={"account": user.username})


def new_token(
    actor: Actor, user: User, name: str = "", valid_s: int | None = None, using: AuthToken | None = None
) -> tuple[AuthToken, str]:
    """A token for programs, stored hashed; its text is returned once. The account's expired ones go.

    name: what it is for; without one it is that of a log-in. valid_s: without it, as long as a log-in's. using: the
    token that asks for it; ``Forbidden`` where that has ended meanwhile.
    """
    with transaction.atomic():
        now = clock.now()
        until = now + (knox_settings.TOKEN_TTL if valid_s is None else dt.timedelta(seconds=valid_s))
        if using is not None:
            until = min(until, _end_of(using) or until)
        AuthToken.objects.filter(user=user, expiry__lt=now).delete()
        if name:
            _room_for_token(user, name)
        row, token = AuthToken.objects.create(user)
        row.created, row.expiry = now, until
        row.save(update_fields=["created", "expiry"])  # knox goes by this machine's clock
        TokenNote.objects.create(token=row, name=name)
        record(actor, "account.token", f"account/{user.username}", after={"name": name, "key": row.token_key})
    return row, token


def _end_of(using: AuthToken) -> dt.datetime | None:
    """Until when what a token makes may last: whoever has found a program's would else have it for ever.

    That of a log-in was got with the password, with which another one can be got.
    """
    found = AuthToken.objects.select_for_update(of=("self",)).filter(pk=using.pk).first()
    if found is None:
        raise Forbidden("the token has been revoked")
    note = TokenNote.objects.filter(token=found).first()
    return None if note is not None and not note.name else found.expiry


def _room_for_token(user: User, name: str) -> None:
    User.objects.select_for_update().get(pk=user.pk)  # one at a time, so that no two take a name
    names = list(TokenNote.objects.filter(token__user=user).exclude(name="").values_list("name", flat=True))
    if name in names:
        raise Conflict(f"there is a token called {name} already; revoke it, or choose another name")
    if len(names) >= NAMED_TOKENS_MAX:
        raise Conflict(f"an account has at most {NAMED_TOKENS_MAX} tokens with a name; revoke one that is not used")


def revoke_token(actor: Actor, user: User, key: str) -> None:
    """End the account's token whose text begins with ``key``; ``NotFound`` without one."""
    with transaction.atomic():
        found = AuthToken.objects.filter(user=user, token_key=key) if "\0" not in key else AuthToken.objects.none()
        if not found.exists():
            raise NotFound(f"{user.username} has no such token; it may have expired")
        found.delete()
        record(actor, "account.token-revoke", f"account/{user.username}", before={"key": key})


def change_password(actor: Actor, user: User, current: str, password: str) -> None:
    """By its owner, who knows the present one. Ends all tokens and sessions of the account."""
    wrong = _weak(user, password)
    if not user.check_password(current):
        remedy = "give it as it is now; an operator can reset it"
        wrong.insert(0, FieldError("current", "is not the present password", remedy))
    _take_password(actor, user, password, wrong)
