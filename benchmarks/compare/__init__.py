"""saltus beside what people use today: ``python -m benchmarks.compare --help``.

`functions` has the truths, `tasks` the splits; `ours`, `scikit` and `peers` the models with their settings; `models`
finds one by name; `worker` fits one in a process of its own; `run` sends the jobs and keeps what comes back; `scores`
and `statistics` turn predictions into figures; `table`, `pictures`, `aims` and `page` show them. `engines` compares
searches.
"""
