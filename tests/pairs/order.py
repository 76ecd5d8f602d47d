"""Compares the estimated times of each slow_NAME with its fast_NAME: usage order.py PROFILE.json PAIRS
RIGHT. Fails unless there are so many pairs and so many of them in the right order."""

import json
import re
import sys

times = {}
for launch in json.load(open(sys.argv[1], encoding="utf-8"))["launches"]:
    length, rest = re.match(r"_Z(\d+)(.*)", launch["kernel"]).groups()
    kind, pair = re.match(r"(slow|fast)_(.*?)(?:_\d)?$", rest[:int(length)]).groups()
    if launch["faulted"]:
        sys.exit(f"{launch['kernel']} went wrong")
    sums = times.setdefault(pair, {"slow": 0, "fast": 0, "slow_limit": "", "fast_limit": ""})
    sums[kind] += launch["estimate"]["us"]
    sums[kind + "_limit"] = launch["estimate"]["limit"].split(":")[0]
right = 0
for pair, t in times.items():
    # A hundredth apart is no order.
    good = t["slow"] > 1.01 * t["fast"]
    right += good
    print(f"{'ok   ' if good else 'WRONG'} {pair:18} {t['slow']:10.2f} us ({t['slow_limit']})  "
          f"{t['fast']:10.2f} us ({t['fast_limit']})")
print(f"{right} of {len(times)} pairs in the right order")
if len(times) < int(sys.argv[2]) or right < int(sys.argv[3]):
    sys.exit(1)
