"""What was used of what was asked for, and how long tasks waited, by the hour as by tag."""

from django.db import migrations, models

ADDED = ("failed", "cpu_ms", "tasks", "waited_s", "peak_memory_mib_s")


class Migration(migrations.Migration):
    dependencies = [("statestore", "0054_simulated_questions")]

    operations = [
        *(
            migrations.AddField(model_name="usagehour", name=name, field=models.BigIntegerField(db_default=0))
            for name in ADDED
        ),
        *(
            migrations.AlterField(model_name="usagetag", name=name, field=models.BigIntegerField(db_default=0))
            for name in ("failed", "cpu_ms")
        ),
    ]
