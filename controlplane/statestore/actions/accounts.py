"""Create accounts, change their roles and passwords, grant queues."""

from django.contrib.auth import get_user_model
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from knox.models import AuthToken

from controlplane.accounts.models import QueueAccess, Role, User

from .audit import Actor, record
from .errors import FieldError, Invalid


def create(actor: Actor, username: str, password: str, role: Role = Role.TENANT) -> User:
    """A new account; ``Invalid`` when the name is taken or the password too weak."""
    model: type[User] = get_user_model()
    user = model(username=username, role=role)
    try:
        user.username = model.normalize_username(username)
        validate_password(password, user)
        user.set_password(password)
        user.full_clean()
    except ValidationError as error:
        found = [FieldError("account", message, "choose another one") for message in error.messages]
        raise Invalid("the account cannot be created", found) from None
    with transaction.atomic():
        user.save()
        record(actor, "account.create", f"account/{user.pk}", after={"username": username, "role": str(role)})
    return user


def set_role(actor: Actor, user: User, role: Role) -> None:
    with transaction.atomic():
        record(actor, "account.role", f"account/{user.pk}", before={"role": user.role}, after={"role": str(role)})
        user.role = role
        user.save(update_fields=["role"])


def set_active(actor: Actor, user: User, active: bool) -> None:
    """Close or reopen an account; closing ends its tokens."""
    with transaction.atomic():
        user.is_active = active
        user.save(update_fields=["is_active"])
        if not active:
            AuthToken.objects.filter(user=user).delete()
        record(actor, "account.active", f"account/{user.pk}", after={"active": active})


def grant_queue(actor: Actor, user: User, queue: str, level: QueueAccess.Level) -> None:
    """Let the account use a queue and everything below it."""
    with transaction.atomic():
        QueueAccess.objects.update_or_create(user=user, queue=queue, defaults={"level": level})
        record(actor, "account.grant", f"account/{user.pk}", after={"queue": queue, "level": str(level)})


def withdraw_queue(actor: Actor, user: User, queue: str) -> None:
    with transaction.atomic():
        QueueAccess.objects.filter(user=user, queue=queue).delete()
        record(actor, "account.withdraw", f"account/{user.pk}", before={"queue": queue})


def new_token(actor: Actor, user: User) -> tuple[AuthToken, str]:
    """A token for programs, stored hashed; its text is returned once. The account's expired ones go."""
    with transaction.atomic():
        AuthToken.objects.filter(user=user, expiry__lt=timezone.now()).delete()
        row, token = AuthToken.objects.create(user)
        record(actor, "account.token", f"account/{user.pk}")
    return row, token
