"""Mail to an account's own address, by the server that operators name. Off unless they do."""

import smtplib

from django.conf import settings
from django.core.mail import EmailMessage

from controlplane.notifications.webhook import Untold


def send(address: str, subject: str, text: str) -> None:
    """Hand it to the mail server, or ``Untold``."""
    if not settings.MAIL_ON:
        raise Untold("this cluster sends no mail any more")
    if not address:
        raise Untold("the account has no mail address any more")
    headers = {"Auto-Submitted": "auto-generated"}  # so that no holiday notice answers
    message = EmailMessage(subject, text, settings.DEFAULT_FROM_EMAIL, [address], headers=headers)
    try:
        message.send()
    except smtplib.SMTPResponseException as error:
        raise Untold(f"the mail server answered {error.smtp_code}") from None
    except smtplib.SMTPRecipientsRefused as refused:
        codes = ", ".join(f"{code}" for code, _ in refused.recipients.values())
        raise Untold(f"the mail server does not take that address: {codes}") from None
    except (smtplib.SMTPException, OSError) as error:
        raise Untold(f"the mail server cannot be reached ({type(error).__name__})") from None
