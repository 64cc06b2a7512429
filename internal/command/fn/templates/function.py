#!/bin/sh
''':'
exec krmflow wrap --json --env= -- python3 "$0"
'''
# {{.Name}} makes a ConfigMap that has the message of its configuration.
#
# The lines above run this file as krmflow wrap's command, which is the function around it: it gives it everything as JSON, which Python reads without
# a further library, and merges the resources that are printed here, as JSON or YAML, into the list. stdin has the list. --env= names no field that
# becomes a variable.
import json
import os
import sys

config = json.loads(os.environ["KUST_FUNCTION_CONFIG"])
message = config["spec"].get("message")
if not message:
    sys.exit("spec.message must not be empty")

resources = json.load(sys.stdin)["items"]
print("resources in the list:", len(resources), file=sys.stderr)

json.dump(
    {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": config["metadata"]["name"]},
        "data": {"message": message},
    },
    sys.stdout,
)
