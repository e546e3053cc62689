"""What accounts used, by the tags of their jobs."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("statestore", "0044_receivers")]

    operations = [
        migrations.CreateModel(
            name="UsageTag",
            fields=[
                ("memory_mib_s", models.BigIntegerField(default=0)),
                ("vcores_milli_s", models.BigIntegerField(default=0)),
                ("gpu_s", models.BigIntegerField(default=0)),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "owner_id",
                        "day",
                        "tag",
                        "queue",
                        "sub_cluster_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("owner_id", models.BigIntegerField()),
                ("day", models.DateField()),
                ("tag", models.CharField(max_length=63)),
                ("queue", models.CharField(max_length=255)),
                ("sub_cluster_id", models.SmallIntegerField()),
                ("containers", models.BigIntegerField(default=0)),
                ("failed", models.BigIntegerField(default=0)),
                ("cpu_ms", models.BigIntegerField(default=0)),
            ],
            options={"indexes": [models.Index(fields=["day"], name="usage_tag_by_day")]},
        ),
    ]
