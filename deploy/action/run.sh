#!/usr/bin/env bash
# The GitHub Action: action.yml passes its inputs as DIR, ROOTS, ARGS, BASE, COMMENT, CHECK, OUTPUT,
# OUTPUT_ARGS and TOKEN. It must run in bash 3.2, the version of macOS, in which "${list[@]}" of an
# empty list is an error: ${list[@]+"${list[@]}"}.
set -euo pipefail

# A comment may have 65,536 characters and a job summary 1 MiB. Both limits leave room for what
# surrounds the differences.
comment_limit=64000
summary_limit=900000

# say LEVEL TEXT annotates the job.
say() {
  local text=${2//'%'/%25}
  text=${text//$'\r'/%0D}
  echo "::$1 title=krmflow::${text//$'\n'/%0A}"
}

set_output() { echo "$1=$2" >>"$GITHUB_OUTPUT"; }

# event FILTER prints a field of the event that started the workflow.
event() { jq -r "$1 // empty" "$GITHUB_EVENT_PATH"; }

on_pull_request() { [ "${GITHUB_EVENT_NAME:-}" = pull_request ]; }

# words TEXT sets list to the words of a text. Unlike an unquoted variable, a word with * is not
# replaced by names of files.
words() {
  list=()
  local line word more
  while IFS= read -r line || [ -n "$line" ]; do
    read -r -a more <<<"$line"
    for word in ${more[@]+"${more[@]}"}; do list+=("$word"); done
  done <<<"$1"
}

install() {
  if command -v krmflow >/dev/null; then return; fi
  local bin=$RUNNER_TEMP/krmflow-bin
  (cd "$(dirname "${BASH_SOURCE[0]}")/../.." && CGO_ENABLED=0 go build -trimpath -o "$bin/krmflow" ./cmd/krmflow)
  echo "$bin" >>"$GITHUB_PATH"
  PATH=$bin:$PATH
}

# commit REVISION sets base to the commit of a revision.
commit() {
  base=$(git rev-parse --verify --quiet --end-of-options "$1^{commit}") || missing "$1"
}

missing() {
  say error "the clone does not have $1, with which the change is compared: set fetch-depth: 0 for actions/checkout"
  exit 1
}

# find_base sets base to the commit to compare with, or to nothing.
find_base() {
  base=
  if [ "$BASE" = false ]; then return; fi
  if [ -z "$BASE" ] && ! on_pull_request; then return; fi
  git rev-parse --git-dir >/dev/null # with git's own message if this is not a repository, or one of another user
  if [ -n "$BASE" ]; then
    commit "$BASE"
    return
  fi
  # By default the checkout is the commit that merging would make. Its first parent is the base
  # branch, which may have moved on since the event was written.
  if [ "$(git rev-parse --verify --quiet 'HEAD^2')" = "$(event .pull_request.head.sha)" ]; then
    commit 'HEAD^1'
    return
  fi
  commit "$(event .pull_request.base.sha)"
  base=$(git merge-base HEAD "$base") || missing "the commit at which the branch began"
}

# render renders the roots that the change can affect, or all. What is rendered is not kept: it has
# Secrets.
render() {
  local where=(-R -- "$DIR") choose=(${roots[@]+"${roots[@]}"})
  if [ -n "$base" ]; then
    krmflow affected --against "$base" --in "$DIR" -0 ${roots[@]+"${roots[@]}"} ${args[@]+"${args[@]}"} >"$temp/affected"
    where=(--) choose=()
    local dir
    while IFS= read -r -d '' dir; do where+=("$dir"); done <"$temp/affected"
    set_output affected "$(jq -nc '$ARGS.positional' --args "${where[@]}")"
  fi
  if [ "$CHECK" = true ]; then # also files of other roots may have changed in the folder
    words "$OUTPUT_ARGS"
    where=(-o "$OUTPUT/" --check ${list[@]+"${list[@]}"} -R -- "$DIR") choose=(${roots[@]+"${roots[@]}"})
  elif [ "${#where[@]}" = 1 ]; then
    echo "No root is affected."
    return
  fi
  set_output sarif "$temp/krmflow.sarif"
  local report="sarif=$temp/krmflow.sarif,github"
  krmflow apply-render ${choose[@]+"${choose[@]}"} ${args[@]+"${args[@]}"} --report "$report" "${where[@]}" >/dev/null
}

# difference SIZE FILE writes the differences as Markdown. Its status is that of krmflow diff
# --exit-code.
difference() {
  krmflow diff -R --against "git:$base" -o markdown --max-size "$1" --keep-going --exit-code \
    ${roots[@]+"${roots[@]}"} ${args[@]+"${args[@]}"} -- "$DIR" >"$2"
}

# compare writes the differences to the summary and to the comment. A root that cannot be rendered
# at the base is no error of the change.
compare() {
  local code=0 differs=true
  difference "$summary_limit" "$temp/diff.md" || code=$?
  if [ "$code" -gt 1 ] && [ ! -s "$temp/diff.md" ]; then return "$code"; fi
  case $code in
  0) differs=false ;;
  1 | 11) ;;
  *) say warning "some roots could not be compared with $base" ;;
  esac
  set_output differs "$differs"
  set_output diff "$temp/diff.md"
  {
    echo "### What the change does to what is rendered"
    echo
    cat "$temp/diff.md"
  } >>"$GITHUB_STEP_SUMMARY"
  if [ "$COMMENT" = true ] && on_pull_request; then comment "$differs"; fi
}

# api METHOD PATH sends a request to GitHub, with $temp/request if it has a body. It prints the
# status and leaves the answer in $temp/answer. The token comes by standard input: other processes
# can read arguments.
api() {
  local more=(--retry 3)
  if [ "$1" != GET ]; then more=(--header "Content-Type: application/json" --data-binary "@$temp/request"); fi
  printf 'header = "Authorization: Bearer %s"\n' "$TOKEN" |
    curl --config - --silent --show-error --max-time 60 --request "$1" --header "Accept: application/vnd.github+json" \
      --header "X-GitHub-Api-Version: 2022-11-28" --output "$temp/answer" --write-out '%{http_code}' "${more[@]}" "$GITHUB_API_URL$2" || true
}

# find_comment NUMBER MARKER sets id to the comment of an earlier run, or to nothing. Anybody can
# write the marker into a comment, so its author counts: the user of the token or, if the token has
# none, such as that of a workflow, a bot.
find_comment() {
  local me= page
  if [ "$(api GET /user)" = 200 ]; then me=$(jq -r .login "$temp/answer"); fi
  id=
  for ((page = 1; ; page++)); do
    status=$(api GET "/repos/$GITHUB_REPOSITORY/issues/$1/comments?per_page=100&page=$page")
    if [ "$status" != 200 ]; then return 1; fi
    id=$(jq -r --arg marker "$2" --arg me "$me" 'first(.[] | select((.body // "" | startswith($marker)) and
      (if $me == "" then .user.type == "Bot" else .user.login == $me end)) | .id) // empty' "$temp/answer")
    if [ -n "$id" ] || [ "$(jq length "$temp/answer")" -lt 100 ]; then return; fi
  done
}

# comment DIFFERS writes the comment of the pull request, or replaces its text. Without differences
# there is a first comment only to replace.
comment() {
  if [ "$(event .pull_request.head.repo.full_name)" != "$GITHUB_REPOSITORY" ]; then
    say notice "the token of a pull request from a fork may not write comments: the differences are in the summary of this job"
    return
  fi
  local number marker id status=000
  number=$(event .pull_request.number)
  marker="<!-- krmflow diff $(printf '%s\n' "$DIR" "$ROOTS" | git hash-object --stdin) -->"
  if find_comment "$number" "$marker"; then
    if [ -z "$id" ] && [ "$1" = false ]; then return; fi
    write_comment
  fi
  case $status in
  200 | 201) ;;
  401 | 403 | 404) say warning "the token may not write comments (it needs pull-requests: write): the differences are in the summary of this job" ;;
  *) say warning "GitHub answered $status to the comment: the differences are in the summary of this job" ;;
  esac
}

write_comment() {
  local text=$temp/diff.md
  if [ "$(wc -c <"$text")" -gt "$comment_limit" ]; then
    text=$temp/comment.md
    difference "$comment_limit" "$text" || true # compare has said what is wrong
  fi
  {
    printf '%s\n### What the change does to what is rendered\n\n' "$marker"
    cat "$text"
    printf '\n[The job](%s/%s/actions/runs/%s) has all.\n' "$GITHUB_SERVER_URL" "$GITHUB_REPOSITORY" "$GITHUB_RUN_ID"
  } | jq -Rs '{body: .}' >"$temp/request"
  if [ -n "$id" ]; then
    status=$(api PATCH "/repos/$GITHUB_REPOSITORY/issues/comments/$id")
  else
    status=$(api POST "/repos/$GITHUB_REPOSITORY/issues/$number/comments")
  fi
}

temp=$(mktemp -d "$RUNNER_TEMP/krmflow.XXXXXX")
install
words "$ROOTS"
roots=(${list[@]+"${list[@]}"})
words "$ARGS"
args=(${list[@]+"${list[@]}"})
find_base
set +e # a function on the left of || would go on after an error
(
  set -e
  render
)
code=$?
set -e
if [ -n "$base" ]; then compare; fi
exit "$code"
