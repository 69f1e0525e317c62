"""The shell half of a batch: POSIX sh functions that run commands one after another and report them in frames.

Nothing runs before ``kvg_end`` is read, so a script that arrives in part runs nothing. One process cannot spoil the
rest: each command has its own limit, a background child that keeps a stream open is not waited for, and a command that
not even SIGKILL ends (a driver that hangs in the kernel) is left behind. All waiting is done on one FIFO: ``d`` command
ended, ``o``/``e`` stream drained, ``p`` process id, ``t`` a second went by.

Streams are kept in one of two ways, both capped by ``ulimit -f``. ``kvgr``, a command that only reads: straight into its
two files, which costs no process at all; a fresh file after it shows whether there was room, for a tool may not say so.
``kvg``, any other: through a pipe and a reader a stream, so that the cap is on the streams and not on files of its own.
A line of plain words is run without a shell. What goes out are copies: a child in the background may go on writing.
"""

from __future__ import annotations

#: Exit status of a script that found no place for its private directory; nothing was run.
NO_DIRECTORY = 97

FUNCTIONS = r"""
unset ENV BASH_ENV CDPATH COLUMNS GREP_OPTIONS LS_COLORS LANGUAGE
LC_ALL=C TERM=dumb NO_COLOR=1 PATH="${PATH:-/usr/local/bin:/usr/bin:/bin}:/usr/local/sbin:/usr/sbin:/sbin"
export LC_ALL TERM NO_COLOR PATH
umask 077
kvg_count=0
kvg() { kvg_add "$3" "$4" '' "$2"; }
kvgr() { kvg_add "$3" "$4" 1 "$2"; }
kvg_add() {
  eval "kvg_limit_$kvg_count=\$4 kvg_cap_$kvg_count=\$1 kvg_line_$kvg_count=\$2 kvg_reads_$kvg_count=\$3"
  kvg_count=$((kvg_count + 1))
}
kvg_epoch() {
  kvg_date=$(date +%s.%N 2>/dev/null)
  case $kvg_date in *.*.* | *. | .* | '' | *[!0-9.]*) kvg_date=$(date +%s) ;; esac
}
kvg_now() {
  kvg_cs=$((kvg_ticks * 100))
  if [ -n "$kvg_uptime" ] && read -r kvg_up kvg_rest </proc/uptime; then
    kvg_cs=$((${kvg_up%.*} * 100 + 1${kvg_up#*.} - 100))
  fi
}
kvg_word() {
  kvg_tool=${kvg_line%% *}
  case $kvg_line in *[!A-Za-z0-9\ _./:,=@%+-]*) kvg_tool== ;; esac
  case $kvg_tool in
  *=* | '' | . | : | alias | bg | break | builtin | caller | cd | command | compgen | complete | compopt | continue | coproc | \
    declare | dirs | disown | do | done | echo | elif | else | enable | esac | eval | exec | exit | export | false | fc | fg | fi | \
    float | for | function | getopts | hash | help | hist | history | if | in | integer | jobs | kill | let | local | logout | \
    mapfile | nameref | newgrp | popd | print | printf | pushd | pwd | read | readarray | readonly | return | select | set | \
    shift | shopt | source | suspend | test | then | time | times | trap | true | type | typeset | ulimit | umask | unalias | \
    unset | until | wait | whence | while) kvg_tool= ;;
  esac
}
kvg_pipes() {
  if [ -n "$kvg_timeout" ]; then
    $kvg_timeout "$@" 2>&5 3>&- 5>&-
  else
    shift
    "$@" 2>&5 3>&- 5>&- &
    echo "p $kvg_i $!" >&3
    wait $!
  fi
}
kvg_files() {
  if [ -n "$kvg_timeout" ]; then
    $kvg_timeout "$@" >"$kvg_file.o" 2>"$kvg_file.e" 3>&-
  else
    shift
    "$@" >"$kvg_file.o" 2>"$kvg_file.e" 3>&- &
    echo "p $kvg_i $!" >&3
    wait $!
  fi
}
kvg_pick_timeout() {
  if timeout -k 2 5 true; then kvg_timeout='timeout -k 2'
  elif timeout 5 true; then kvg_timeout='timeout'
  elif timeout -t 5 true; then kvg_timeout='timeout -t'
  else kvg_timeout=
  fi 2>/dev/null
}
kvg_settle() {
  rm -f "$kvg_dir/f"
  for kvg_left in "$1"/kvgate.*; do
    [ "$kvg_left" != "$kvg_dir" ] && [ -d "$kvg_left" ] && [ ! -L "$kvg_left" ] && [ -O "$kvg_left" ] &&
      find "$kvg_left" -maxdepth 0 -mtime +0 -exec rm -rf {} \;
  done 2>/dev/null
}
kvg_place() {
  for kvg_base in /dev/shm "${XDG_RUNTIME_DIR:-}" "${TMPDIR:-}" /tmp /var/tmp; do
    [ -n "$kvg_base" ] && [ -d "$kvg_base" ] && [ -w "$kvg_base" ] || continue
    kvg_dir=$(mktemp -d "$kvg_base/kvgate.XXXXXX" 2>/dev/null) || continue
    mkfifo "$kvg_dir/f" 2>/dev/null && mkdir "$kvg_dir/x" && return 0
    rm -rf "$kvg_dir"
  done
  kvg_dir=
  return 1
}
kvg_bound() {
  trap '' XFSZ
  ulimit -f $((kvg_cap / 512 + 1))
}
kvg_keep() {
  kvg_bound
  exec cat >"$kvg_file.$1" 3>&-
}
kvg_start() {
  if [ -n "$kvg_reads" ]; then
    kvg_open=1
    {
      kvg_bound
      kvg_files "$kvg_limit" "$@"
      kvg_value=$?
      echo >"$kvg_file.g" && kvg_value="$kvg_value 0" || kvg_value="$kvg_value 1"
      echo "d $kvg_i $kvg_value" >&3
    } </dev/null >/dev/null 2>&1 4<&- &
  else
    kvg_open=3
    {
      {
        { kvg_pipes "$kvg_limit" "$@"; echo "d $kvg_i $? 0" >&3; } | (kvg_keep o) >/dev/null 5>&-
        echo "o $kvg_i $?" >&3
      } 5>&1 | (kvg_keep e)
      echo "e $kvg_i $?" >&3
    } </dev/null >/dev/null 2>&1 4<&- &
  fi
}
kvg_await() {
  kvg_status= kvg_cut=0 kvg_age=0 kvg_grace=0 kvg_pid= kvg_fails=0
  while [ "$kvg_open" -gt 0 ]; do
    if ! read -r kvg_event kvg_of kvg_value kvg_lost <&4; then
      kvg_fails=$((kvg_fails + 1))
      [ "$kvg_fails" -lt 1000 ] || exit 99
      continue
    fi
    if [ "$kvg_event" = t ]; then
      kvg_ticks=$((kvg_ticks + 1)) kvg_age=$((kvg_age + 1))
      kvg_flush
      if [ -n "$kvg_status" ]; then
        kvg_grace=$((kvg_grace + 1))
        [ "$kvg_grace" -lt 2 ] || return 0
      elif [ "$kvg_age" -gt $((kvg_limit + 4)) ]; then
        return 1
      elif [ -n "$kvg_pid" ] && [ "$kvg_age" -gt "$kvg_limit" ]; then
        kill -TERM "$kvg_pid"
        [ "$kvg_age" -lt $((kvg_limit + 3)) ] || kill -KILL "$kvg_pid"
      fi 2>/dev/null
    elif [ "$kvg_of" = "$kvg_i" ]; then
      case $kvg_event in
      p) kvg_pid=$kvg_value ;;
      d)
        kvg_status=$kvg_value kvg_cut=$((kvg_cut | kvg_lost)) kvg_open=$((kvg_open - 1))
        [ "$kvg_status" -lt 256 ] || kvg_status=$((kvg_status - 128))
        ;;
      *) kvg_open=$((kvg_open - 1)); [ "$kvg_value" = 0 ] || kvg_cut=1 ;;
      esac
    fi
  done
}
kvg_run() {
  eval "kvg_limit=\$kvg_limit_$kvg_i kvg_cap=\$kvg_cap_$kvg_i kvg_line=\$kvg_line_$kvg_i kvg_reads=\$kvg_reads_$kvg_i"
  [ -z "$kvg_most" ] || [ "$kvg_cap" -le "$kvg_most" ] || kvg_cap=$kvg_most
  kvg_file=$kvg_dir/$kvg_i
  true >"$kvg_file.o" && true >"$kvg_file.e" || return
  kvg_now
  kvg_from=$kvg_cs
  kvg_word
  if [ -n "$kvg_tool" ]; then kvg_start $kvg_line; else kvg_start sh -c "$kvg_line"; fi
  if kvg_await; then
    kvg_now
    kvg_done="$kvg_done $kvg_i"
    eval "kvg_is_$kvg_i='$kvg_status $kvg_cut $(((kvg_cs - kvg_from) * 10)) $kvg_cap'"
  fi
  kvg_now
  [ $((kvg_cs - kvg_flushed)) -le 100 ] || kvg_flush
}
kvg_freeze() {
  cp $kvg_kept "$kvg_dir/x" && return
  for kvg_one in $kvg_kept; do
    kvg_file=$kvg_dir/x/${kvg_one##*/}
    cp "$kvg_one" "$kvg_dir/x" || { true >"$kvg_file" && kvg_short="$kvg_short $kvg_file " || exit 96; }
  done
} 2>/dev/null
kvg_flush() {
  [ -n "$kvg_done" ] || return 0
  kvg_kept= kvg_copies= kvg_more= kvg_short=
  for kvg_one in $kvg_done; do
    kvg_kept="$kvg_kept $kvg_dir/$kvg_one.o $kvg_dir/$kvg_one.e"
    kvg_copies="$kvg_copies $kvg_dir/x/$kvg_one.o $kvg_dir/x/$kvg_one.e"
    kvg_more="$kvg_more $kvg_dir/$kvg_one.g"
  done
  kvg_freeze
  set -- $(wc -c $kvg_copies)
  for kvg_one in $kvg_done; do
    eval "kvg_was=\$kvg_is_$kvg_one"
    kvg_trim "$2" "$1" ${kvg_was##* }
    kvg_out=$kvg_size
    kvg_trim "$4" "$3" ${kvg_was##* }
    kvg_frame "$kvg_one" ${kvg_was% *}
    shift 4
  done
  echo "KVGATE $kvg_nonce DATA"
  cat $kvg_copies
  rm -f $kvg_kept $kvg_copies $kvg_more
  kvg_done=
  kvg_now
  kvg_flushed=$kvg_cs
}
kvg_trim() {
  kvg_size=$2
  case $kvg_short in *" $1 "*) kvg_full=1 ;; esac
  if [ "$2" -ge "$3" ]; then
    kvg_full=1 kvg_size=$3
    head -c "$3" "$1" >"$1.x" && mv -f "$1.x" "$1" && return
    exit 96
  fi
}
kvg_frame() {
  kvg_frames=$((kvg_frames + 1))
  echo "KVGATE $kvg_nonce R $1 $2 $kvg_out $kvg_size $((kvg_full | $3)) $4"
  kvg_full=0
}
kvg_end() {
  kvg_dir= kvg_ticker=
  trap '[ -z "$kvg_ticker" ] || kill "$kvg_ticker" 2>/dev/null; [ -z "$kvg_dir" ] || rm -rf "$kvg_dir"' EXIT
  trap 'exit 98' HUP INT TERM PIPE
  kvg_place || { echo "kvgate: no private directory can be made" >&2; exit 97; }
  exec 4<>"$kvg_dir/f" 3>"$kvg_dir/f"
  kvg_boot=- kvg_uptime= kvg_ticks=0 kvg_frames=0 kvg_full=0 kvg_done= kvg_short= kvg_i=0
  [ -r /proc/sys/kernel/random/boot_id ] && read -r kvg_boot </proc/sys/kernel/random/boot_id
  [ -r /proc/uptime ] && kvg_uptime=1
  kvg_most=$(ulimit -H -f)
  case $kvg_most in '' | *[!0-9]*) kvg_most= ;; *) kvg_most=$((kvg_most * 512)) ;; esac
  kvg_epoch
  echo "KVGATE $kvg_nonce BEGIN $kvg_date $kvg_boot"
  kvg_settle "$kvg_base"
  kvg_pick_timeout
  (exec 4<&-; while echo t >&3; do sleep 1 3>&-; done) </dev/null >/dev/null 2>&1 &
  kvg_ticker=$!
  kvg_now
  kvg_flushed=$kvg_cs
  while [ "$kvg_i" -lt "$kvg_count" ]; do
    kvg_run
    kvg_i=$((kvg_i + 1))
  done
  kvg_flush
  kvg_epoch
  echo "KVGATE $kvg_nonce END $kvg_frames $kvg_date"
  exit 0
}
"""
