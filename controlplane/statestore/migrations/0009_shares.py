"""What sub-clusters have and want, what the GPG assigns to them, and its lease."""

from pathlib import Path

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

SCHEMA = Path(__file__).parent.parent / "shares.sql"
DROP = "DROP FUNCTION statestore_fence_duty; DROP FUNCTION statestore_at_once;"


def _of_sub_cluster() -> models.OneToOneField:
    return models.OneToOneField(
        on_delete=django.db.models.deletion.CASCADE, primary_key=True, serialize=False, to="statestore.subcluster"
    )


def _amounts() -> django.contrib.postgres.fields.ArrayField:
    return django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None)


class Migration(migrations.Migration):
    dependencies = [("statestore", "0008_spanning")]
    operations = [
        migrations.CreateModel(
            name="DutyLease",
            fields=[
                ("name", models.CharField(max_length=63, primary_key=True, serialize=False)),
                ("epoch", models.IntegerField(default=0)),
                ("holder", models.CharField(blank=True, max_length=128)),
                ("backend_pid", models.IntegerField(default=0)),
                ("expires_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="LoadRow",
            fields=[
                ("sub_cluster", _of_sub_cluster()),
                ("at", models.DateTimeField()),
                ("epoch", models.IntegerField()),
                ("policy_version", models.BigIntegerField()),
                ("shares_version", models.BigIntegerField()),
                ("nodes_up", models.IntegerField()),
                ("capacity", _amounts()),
                ("free", _amounts()),
                ("pending", _amounts()),
                ("body", models.BinaryField()),
            ],
            options={"db_table": "statestore_load"},
        ),
        migrations.CreateModel(
            name="ShareAssignment",
            fields=[
                ("sub_cluster", _of_sub_cluster()),
                ("version", models.BigIntegerField()),
                ("at", models.DateTimeField()),
                ("epoch", models.IntegerField()),
                ("policy_version", models.BigIntegerField()),
                ("body", models.BinaryField()),
            ],
        ),
        migrations.AlterField("admissioncount", "queue", models.CharField(max_length=320)),
        migrations.AlterField(
            "admissionhead", "queue", models.CharField(max_length=320, primary_key=True, serialize=False)
        ),
        migrations.RunSQL(SCHEMA.read_text(), DROP),
    ]
