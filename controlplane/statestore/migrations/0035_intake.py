"""How many tasks a job was submitted with, and what of live jobs one user may have in a queue."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("statestore", "0034_log_moments")]
    operations = [
        migrations.AddField("job", "task_count", models.IntegerField(db_default=0)),
        migrations.AddField("queue", "max_live_jobs_per_user", models.IntegerField(null=True)),
        migrations.AddField("queue", "max_live_tasks_per_user", models.BigIntegerField(null=True)),
        migrations.AddField("queue", "max_live_mib_per_user", models.IntegerField(null=True)),
    ]
