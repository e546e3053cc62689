"""Jobs that are started again and again, and what became of each of their times."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("statestore", "0038_revisions"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Schedule",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=128)),
                ("queue", models.CharField(max_length=255)),
                ("cron", models.CharField(max_length=255)),
                ("zone", models.CharField(max_length=64)),
                ("except_days", models.JSONField(default=list)),
                ("job", models.TextField()),
                ("template", models.JSONField()),
                ("given", models.JSONField(default=dict)),
                ("digests", models.JSONField(default=list)),
                (
                    "overlap",
                    models.CharField(
                        choices=[
                            ("skip", "Start nothing while a job of before lives"),
                            ("allow", "Start it beside them"),
                            ("replace", "Stop them, and start it"),
                        ],
                        default="skip",
                        max_length=8,
                    ),
                ),
                ("start_within_s", models.IntegerField()),
                ("keep", models.SmallIntegerField()),
                ("until", models.DateTimeField(null=True)),
                ("suspended", models.BooleanField(default=False)),
                ("next_at", models.DateTimeField(null=True)),
                ("look_at", models.DateTimeField(null=True)),
                ("revision", models.IntegerField(default=1)),
                ("created_at", models.DateTimeField()),
                ("changed_at", models.DateTimeField()),
                (
                    "owner",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ScheduleRun",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField()),
                (
                    "outcome",
                    models.CharField(
                        choices=[
                            ("started", "A job was started"),
                            ("refused", "No job was taken"),
                            ("overlap", "A job of before had not ended"),
                            ("late", "Nobody looked in time"),
                            ("suspended", "It was suspended"),
                        ],
                        max_length=12,
                    ),
                ),
                ("message", models.TextField(blank=True)),
                ("times", models.IntegerField(default=1)),
                ("made_at", models.DateTimeField()),
                (
                    "by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "job",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="scheduled",
                        to="statestore.job",
                    ),
                ),
                (
                    "schedule",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="runs",
                        to="statestore.schedule",
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="schedule",
            index=models.Index(
                condition=models.Q(("look_at__isnull", False)), fields=["look_at"], name="schedule_by_look"
            ),
        ),
        migrations.AddIndex(
            model_name="schedule",
            index=models.Index(fields=["queue"], name="schedule_by_queue"),
        ),
        migrations.AddConstraint(
            model_name="schedule",
            constraint=models.UniqueConstraint(fields=("owner", "name"), name="one_schedule_of_a_name"),
        ),
        migrations.AddIndex(
            model_name="schedulerun",
            index=models.Index(fields=["schedule", "-id"], name="run_of_schedule"),
        ),
        migrations.AddConstraint(
            model_name="schedulerun",
            constraint=models.UniqueConstraint(fields=("schedule", "at"), name="one_run_of_a_time"),
        ),
    ]
