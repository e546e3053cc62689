import django.db.models.deletion
from django.db import migrations, models
from django.utils import timezone


class Migration(migrations.Migration):
    dependencies = [("statestore", "0007_plain_log")]
    operations = [
        # Demand towards a job's own home is no row any more: its home RM knows it from tasks and containers.
        migrations.RunSQL("DELETE FROM statestore_ask", migrations.RunSQL.noop),
        migrations.AddField("ask", "base", models.BigIntegerField(default=0)),
        migrations.AddField("ask", "taken", models.BigIntegerField(default=0)),
        migrations.AddField("ask", "wish", models.BigIntegerField(default=0), preserve_default=False),
        migrations.AddField("ask", "work", models.BinaryField(default=b""), preserve_default=False),
        migrations.AddField("ask", "halt", models.BooleanField(default=False)),
        migrations.AddField("ask", "since", models.DateTimeField(default=timezone.now), preserve_default=False),
        migrations.AddField("ask", "reason", models.JSONField(null=True)),
        migrations.AddIndex(
            "ask",
            models.Index(
                condition=models.Q(("version__gt", models.F("acknowledged"))),
                fields=["sub_cluster"],
                name="ask_unread",
            ),
        ),
        migrations.CreateModel(
            name="Report",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("group_no", models.SmallIntegerField(null=True)),
                ("target", models.BigIntegerField(null=True)),
                ("events", models.BinaryField(default=b"")),
                (
                    "home",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="statestore.subcluster"
                    ),
                ),
                (
                    "job",
                    models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to="statestore.job"),
                ),
                (
                    "sub_cluster",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="statestore.subcluster",
                    ),
                ),
            ],
        ),
    ]
