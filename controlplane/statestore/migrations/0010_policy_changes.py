"""Proposals that wait for a second operator, temporary overrides, and versions that carry some."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

STATES = [
    ("pending", "Waits for another operator"),
    ("approved", "Carried out"),
    ("rejected", "Will not be done"),
    ("withdrawn", "Taken back by its author"),
]


def _reference(to: str, null: bool = False) -> models.ForeignKey:
    return models.ForeignKey(null=null, on_delete=django.db.models.deletion.PROTECT, related_name="+", to=to)


def _number() -> models.BigAutoField:
    return models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("statestore", "0009_shares"),
    ]
    operations = [
        migrations.AddField("policyversion", "written", models.JSONField(null=True)),
        migrations.AddField("policyversion", "base", _reference("statestore.policyversion", null=True)),
        migrations.AddField("policyversion", "overrides", models.JSONField(default=list)),
        migrations.AddField("policyversion", "approved_by", _reference(settings.AUTH_USER_MODEL, null=True)),
        migrations.CreateModel(
            name="PolicyProposal",
            fields=[
                ("id", _number()),
                ("kind", models.CharField(max_length=16)),
                ("payload", models.JSONField()),
                ("changes", models.JSONField(default=list)),
                ("message", models.TextField()),
                ("created_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
                ("state", models.CharField(choices=STATES, default="pending", max_length=16)),
                ("decided_at", models.DateTimeField(null=True)),
                ("decision", models.TextField(blank=True)),
                ("result", models.JSONField(null=True)),
                ("author", _reference(settings.AUTH_USER_MODEL)),
                ("base", _reference("statestore.policyversion")),
                ("decided_by", _reference(settings.AUTH_USER_MODEL, null=True)),
            ],
            options={"indexes": [models.Index(fields=["-id", "state"], name="proposal_by_state")]},
        ),
        migrations.CreateModel(
            name="PolicyOverride",
            fields=[
                ("id", _number()),
                ("queue", models.CharField(max_length=255)),
                ("field", models.CharField(max_length=32)),
                ("partition", models.CharField(blank=True, max_length=63)),
                ("change", models.JSONField()),
                ("starts_at", models.DateTimeField()),
                ("ends_at", models.DateTimeField()),
                ("message", models.TextField()),
                ("created_at", models.DateTimeField()),
                ("cancelled_at", models.DateTimeField(null=True)),
                ("problem", models.TextField(blank=True)),
                ("refused_in", models.BigIntegerField(null=True)),
                ("author", _reference(settings.AUTH_USER_MODEL, null=True)),
                ("cancelled_by", _reference(settings.AUTH_USER_MODEL, null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("cancelled_at__isnull", True)), fields=["ends_at"], name="override_to_come"
                    )
                ]
            },
        ),
    ]
