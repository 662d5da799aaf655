"""Judges the fake forge of the tests with a client made from Gitea's own description of its API:
what the tests take for Gitea must be Gitea to others. Fails at the first surprise."""

import asyncio
import subprocess

from gitea_api_client import ApiClient, Configuration
from gitea_api_client.api.miscellaneous_api import MiscellaneousApi
from gitea_api_client.api.repository_api import RepositoryApi
from gitea_api_client.api.user_api import UserApi
from gitea_api_client.exceptions import NotFoundException, UnauthorizedException

TOKEN = "t0k3n-0123456789abcdef"
SERVE = "fake_forge::serves_a_forge_for_another_client"
INDEX = b"- [Retry](concepts/retry.md)\n"


def client(url, token):
    configuration = Configuration(host=f"{url}/api/v1")
    configuration.api_key["AuthorizationHeaderToken"] = token
    configuration.api_key_prefix["AuthorizationHeaderToken"] = "token"
    return ApiClient(configuration)


async def refused(call, kind):
    try:
        await call
    except kind:
        return
    raise AssertionError(f"not refused with {kind.__name__}")


async def judge(url):
    async with client(url, TOKEN) as api:
        assert (await MiscellaneousApi(api).get_version()).version
        users, repositories = UserApi(api), RepositoryApi(api)
        assert (await users.user_get_current()).login == "ann"

        names, page = [], 1
        while True:
            answer = await users.user_current_list_repos_with_http_info(page=page, limit=50)
            headers = {key.lower(): value for key, value in answer.headers.items()}
            assert headers["x-total-count"] == "3", headers
            names += [repository.name for repository in answer.data]
            if 'rel="next"' not in headers.get("link", ""):
                break
            page += 1
        assert sorted(names) == ["billing", "fx", "ledger"] and page == 2, (names, page)

        repository = await repositories.repo_get("ann", "billing")
        assert repository.default_branch == "trunk" and repository.owner.login == "ann"
        assert repository.full_name == "ann/billing" and repository.id > 0

        raw = await repositories.repo_get_raw_file_with_http_info(
            "ann", "billing", ".wiki/index.md", ref="trunk"
        )
        assert bytes(raw.data) == INDEX, raw.data
        etag = {key.lower(): value for key, value in raw.headers.items()}["etag"]
        assert etag.startswith('"')
        assert bytes(await repositories.repo_get_raw_file("ann", "billing", "README.md"))

        branch = await repositories.repo_get_branch("ann", "billing", "trunk")
        assert branch.name == "trunk" and len(branch.commit.id) == 40
        at_commit = await repositories.repo_get_raw_file(
            "ann", "billing", ".wiki/index.md", ref=branch.commit.id
        )
        assert bytes(at_commit) == INDEX

        paths, page = [], 1
        while True:
            tree = await repositories.get_tree(
                "ann", "billing", "trunk", recursive=True, page=page, per_page=1000
            )
            paths += [entry.path for entry in tree.tree]
            if not tree.truncated:
                break
            page += 1
        assert len(paths) == tree.total_count == 4 and ".tasks/STATUS.md" in paths, paths

        await refused(repositories.repo_get("ann", "nothing"), NotFoundException)
        missing = repositories.repo_get_raw_file("ann", "billing", ".wiki/none.md")
        await refused(missing, NotFoundException)
    async with client(url, "wrong") as api:
        await refused(UserApi(api).user_get_current(), UnauthorizedException)


def main():
    command = ["cargo", "test", "--quiet", "--all-features", "--test", "it", "--"]
    command += ["--ignored", "--exact", SERVE, "--nocapture"]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        for line in server.stdout:
            if "forge http" in line:
                asyncio.run(judge(line.split("forge ")[1].strip()))
                break
        else:
            raise AssertionError("the fake forge did not start")
    finally:
        server.stdin.close()
        server.wait()
    print("gitea-api-client: the fake forge answers as Gitea does")


main()
