"""Which commands have only just ended is asked whenever one begins."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("statestore", "0046_stamps_by_the_database"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="exec",
            index=models.Index(
                condition=models.Q(("ended_at__isnull", False)), fields=["ended_at"], name="exec_that_ended"
            ),
        ),
    ]
