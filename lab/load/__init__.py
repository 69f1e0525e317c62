"""Load on a rack that is not there: what fio and iostat print, from a model of rates and latencies with seeded noise."""
