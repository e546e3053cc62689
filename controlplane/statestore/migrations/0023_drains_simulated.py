"""What-if simulations of drains."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("statestore", "0022_simulations"),
    ]

    operations = [
        migrations.AddField(
            model_name="simulation",
            name="forecast",
            field=models.BooleanField(null=True),
        ),
        migrations.AddField(
            model_name="simulation",
            name="sub_cluster",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="statestore.subcluster"
            ),
        ),
        migrations.AlterField(
            model_name="simulation",
            name="digest",
            field=models.CharField(blank=True, max_length=64),
        ),
        migrations.AlterField(
            model_name="simulation",
            name="kind",
            field=models.CharField(
                choices=[
                    ("policy", "What a policy would have done"),
                    ("drain", "What would wait if a sub-cluster were drained"),
                ],
                default="policy",
                max_length=8,
            ),
        ),
    ]
