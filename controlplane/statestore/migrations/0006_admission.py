"""Counts of admitted jobs, shared by all sub-clusters, and the functions that claim against them."""

from pathlib import Path

import django.db.models.deletion
from django.db import migrations, models

SCHEMA = Path(__file__).parent.parent / "admission.sql"
DROP = "DROP FUNCTION statestore_claim; DROP FUNCTION statestore_admitted_elsewhere;"


class Migration(migrations.Migration):
    dependencies = [("statestore", "0005_node_life")]

    operations = [
        migrations.CreateModel(
            name="AdmissionHead",
            fields=[("queue", models.CharField(max_length=255, primary_key=True, serialize=False))],
        ),
        migrations.CreateModel(
            name="AdmissionLedger",
            fields=[
                (
                    "sub_cluster",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        serialize=False,
                        to="statestore.subcluster",
                    ),
                ),
                ("version", models.BigIntegerField()),
                ("epoch", models.IntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="AdmissionCount",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "queue", "owner", "sub_cluster", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("queue", models.CharField(max_length=255)),
                ("owner", models.BigIntegerField(default=0)),
                ("running", models.BigIntegerField()),
                ("epoch", models.IntegerField()),
                (
                    "sub_cluster",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="statestore.subcluster"),
                ),
            ],
        ),
        migrations.RunSQL(SCHEMA.read_text(), DROP),
    ]
