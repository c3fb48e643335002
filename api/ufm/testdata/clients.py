"""The orders of calls of UFM's clients, with Python's requests: clients.py CONFIG, a JSON object on standard input.

Each client sends the headers that it is known to send, takes the statuses that it takes, and verifies the server's
certificate where it does so. The script ends with status 0 if all of them got what they need.
"""

import json
import sys
import time

import requests

cfg = json.load(sys.stdin)
requests.packages.urllib3.disable_warnings()


class Wrong(Exception):
    pass


def must(is_so, *what):
    if not is_so:
        raise Wrong(*what)


def call(session, method, path, timeout=10, **more):
    reply = session.request(method, cfg["url"] + path, timeout=timeout, allow_redirects=False, **more)
    must(not 300 <= reply.status_code < 400, method, path, reply.status_code)
    must(reply.headers["Content-Type"].startswith("application/json"), method, path, reply.headers)
    reply.json()
    return reply


def session(verify, **headers):
    s = requests.Session()
    s.trust_env = False  # no .netrc, no proxy
    s.verify = verify
    s.headers.update({name.replace("_", "-"): value for name, value in headers.items()})
    return s


def ib_kubernetes():
    """One user with a password, no verification, Content-Type with GET too, and nothing but status 200."""
    s = session(False, Content_Type="application/json; charset=utf-8")
    s.auth = (cfg["user"], cfg["password"])

    def ask(method, path, body=None):
        reply = call(s, method, "/ufmRest" + path, data=None if body is None else json.dumps(body))
        must(reply.status_code == 200, method, path, reply.status_code, reply.text)
        return reply.json()

    def guids():
        found = {}
        for key, partition in ask("GET", "/resources/pkeys/?guids_data=true").items():
            for member in partition.get("guids", []):
                must(len(member["guid"]) == 16, member)
                bytes.fromhex(member["guid"])
                found[member["guid"]] = key
        return found

    ask("GET", "/app/ufm_version")
    guids()
    new = ["0200000000000001", "02000000000000ab"]
    ask("POST", "/resources/pkeys", {"pkey": "0x02FB", "index0": True, "ip_over_ib": True, "membership": "full", "guids": new})
    must([guids().get(guid) for guid in new] == ["0x2fb", "0x2fb"], guids())
    for guid in new + new[:1]:  # a second removal succeeds too
        ask("POST", "/actions/remove_guids_from_pkey", {"pkey": "0x02FB", "guids": [guid]})
        must(guid not in guids(), guid)


def nico(base, s):
    """One request a session, statuses 200 and 201, text that is UTF-8."""
    order = [
        ("GET", "/app/ufm_version", None),
        ("GET", "/app/smconf", None),
        ("GET", "/resources/pkeys/0x7fff?guids_data=true&qos_conf=true", None),
        ("GET", "/resources/ports?sys_type=Computer", None),
        ("GET", "/resources/pkeys?qos_conf=true", None),
        ("POST", "/resources/pkeys", {"pkey": "0x100", "ip_over_ib": True, "index0": True, "membership": "full",
                                      "guids": ["b83fd20300485b2e"]}),
        ("PUT", "/resources/pkeys/qos_conf", {"pkey": "0x100", "mtu_limit": 4, "service_level": 0, "rate_limit": 200.0}),
        ("GET", "/resources/pkeys/0x100?guids_data=true&qos_conf=true", None),
        ("POST", "/actions/remove_guids_from_pkey", {"pkey": "0x100", "guids": ["b83fd20300485b2e"]}),
        ("GET", "/resources/pkeys/0x100?qos_conf=true", None),
    ]
    answers = []
    for method, path, body in order:
        reply = call(s(), method, base + path, json=body)
        must(reply.status_code in (200, 201), method, path, reply.status_code, reply.text)
        answers.append(json.loads(reply.content.decode("utf-8")))
    version, conf, default, ports, keys, _, _, one, _, gone = answers
    must(isinstance(version["ufm_release_version"], str), version)
    must(all(isinstance(conf[k], str) for k in ("subnet_prefix", "m_key", "sm_key", "sa_key")), conf)
    must(default["membership"] in ("full", "limited"), default)
    for port in ports:
        must(all(port[k] is not None for k in ("guid", "name", "systemID", "lid", "dname", "system_name",
                                               "physical_state", "logical_state")), port)
    must(len(ports) > 0 and len(keys) > 0, ports, keys)
    must(one["qos_conf"] == {"mtu_limit": 4, "service_level": 0, "rate_limit": 200}, one)
    must(one["guids"] == [{"guid": "b83fd20300485b2e", "membership": "full", "index0": True}], one)
    must(gone == {}, gone)


def config_manager(user, passwords, calls):
    """Tries its passwords in order with status 401 and 403. Returns the statuses, and how long the last call took."""
    statuses, took = [], 0
    s = session(cfg["ca"])
    for method, path, body in calls:
        for password in passwords:
            s.auth = (user, password)
            began = time.monotonic()
            reply = call(s, method, "/ufmRest" + path, timeout=30, json=body)
            took = time.monotonic() - began
            statuses.append(reply.status_code)
            if reply.status_code not in (401, 403):
                break
        yield reply, statuses, took
        statuses = []


def config_manager_order():
    g1, g2 = "0200000000000001", "0200000000000002"
    order = [
        ("GET", "/resources/pkeys", None),
        ("POST", "/resources/pkeys/add", {"pkey": "0x0005", "ip_over_ib": True}),
        ("GET", "/resources/pkeys/0x5", None),
        ("PUT", "/resources/pkeys/", {"pkey": "0x0005", "guids": [g1, g2], "memberships": ["full", "limited"],
                                      "ip_over_ib": True}),
        ("GET", "/resources/pkeys/0x5?guids_data=true", None),
        ("DELETE", "/resources/pkeys/0x5/guids/%s,%s" % (g1, g2), None),
        ("GET", "/resources/pkeys/0x5?guids_data=true", None),
        ("DELETE", "/resources/pkeys/0x5", None),
        ("GET", "/resources/pkeys/0x5", None),
    ]
    replies = []
    for reply, statuses, _ in config_manager(cfg["user"], [cfg["password"]], order):
        must(statuses == [200], statuses, reply.text)
        replies.append(reply.json())
    must(replies[0] == ["0x7fff", "0x10"], replies[0])
    must(replies[2] != {}, replies[2])
    must([(m["guid"], m["membership"]) for m in replies[4]["guids"]] == [(g1, "full"), (g2, "limited")], replies[4])
    must(replies[6] != {} and replies[6]["guids"] == [] and replies[8] == {}, replies[6], replies[8])


def old_passwords():
    """Ten old passwords and then the right one, again and again: the eleventh is answered at once."""
    old = ["password of month %d" % i for i in range(10)]
    right, first = [], None
    for _ in range(cfg["passes"]):
        for reply, statuses, took in config_manager(cfg["user"], old + [cfg["password"]], [("GET", "/app/ufm_version", None)]):
            must(statuses == [401] * 10 + [200], statuses, reply.text)
            right.append(took)
    # a user who may not do it: status 403, all others are wrong, and none of that keeps the user out
    refused = [("POST", "/resources/pkeys/add", {"pkey": "0x6"})]
    for reply, statuses, _ in config_manager(cfg["reader"], [cfg["password"]] + old, refused):
        must(statuses == [403] + [401] * 10, statuses)
    for reply, statuses, took in config_manager(cfg["reader"], [cfg["password"]], [("GET", "/app/ufm_version", None)]):
        must(statuses == [200], statuses)
        right.append(took)
    return "the eleventh password: fastest %.1f ms, slowest %.1f ms" % (min(right) * 1000, max(right) * 1000), min(right)


def ironic():
    """requests as OpenStack's bare metal driver uses it: booleans of Python."""
    s = session(False)
    s.auth = (cfg["user"], cfg["password"])
    guid = "0200000000000009"

    def ask(method, path, **more):
        reply = call(s, method, "/ufmRest" + path, timeout=60, **more)
        must(reply.status_code == 200, method, path, reply.status_code, reply.text)
        return reply.json()

    ask("GET", "/app/ufm_version")
    must(ask("GET", "/resources/pkeys", params={"guids_data": False})[0] == "0x7fff")
    ask("PUT", "/resources/pkeys", json={"pkey": "0x7", "index0": False, "ip_over_ib": True, "membership": "full",
                                         "guids": [guid]})
    ask("POST", "/resources/pkeys/", json={"pkey": "0x7", "index0": False, "ip_over_ib": True, "membership": "full",
                                           "guids": ["0200000000000008"]})
    members = ask("GET", "/resources/pkeys/0x7", params={"guids_data": True})["guids"]
    must([m["guid"] for m in members] == ["0200000000000008", guid], members)
    ask("DELETE", "/resources/pkeys/0x7/guids/" + guid)
    ask("DELETE", "/resources/pkeys/0x7")


ib_kubernetes()
nico("/ufmRestV3", lambda: session(False, authorization="Basic " + cfg["token"]))


def with_certificate():
    s = session(cfg["ca"], authorization="")
    s.cert = (cfg["certificate"], cfg["key"])
    return s


nico("/ufmRest", with_certificate)
config_manager_order()
ironic()
text, fastest = old_passwords()
print(text)
must(fastest < cfg["least"], text)
