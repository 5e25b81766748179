"""tests/golden/shell/commands.json: scripts, and the words of each command that bash runs of them.

make_golden_shell.py: wants bash and nothing else. `run` in the scripts is a function that writes its words down.
"""
import json
import pathlib
import subprocess

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden/shell/commands.json"
PRELUDE = 'run() { printf "%s\\0" "$@"; printf "\\1"; }\n'

SCRIPTS = r"""
run a 'b c' "d e" f\ g "h'i" 'j"k' --l=m"n"o ""
---
X=; run "${X:-d}" "${X-e}" "${Y:-f}" "${Y-g}" "${X:+h}" "${X+i}" end
---
run ${X:=8} $X; run "${Z:=a b}" $Z "$Z"
---
A=8; B=${A}0; run $B $((A * 2 + B / 3)) $(( (A + 1) ** 2 % 7 )) $((A > 3 ? 1 : 2)) $((0x10 + 010)) $((-7 / 2)) $((1 << 4 | 3))
---
A=3; ((A += 4)); let A*=2; run $A $((A++)) $A $((++A)) $((--A)) $((A--)) $A
---
A="1 + 2"; run $((A * 3)) $(($A * 3))
---
ARGS=(--a 1 "two words" # a comment
  --b
  2); ARGS+=(--c "$(echo x)"); run "${ARGS[@]}"; run ${ARGS[@]}; run "${ARGS[*]}"; run ${#ARGS[@]} ${ARGS[2]} "${ARGS[-1]}" "${ARGS[@]:1:2}"
---
EMPTY=(); run "${EMPTY[@]}" end; run ${EMPTY[@]} "$@" end
---
N=2; if [ "$N" -gt 1 ] && [ -n "$N" ]; then run many; elif [ $N = 1 ]; then run one; else run none; fi
---
N=; if [ -z "$N" ]; then run empty; fi; if [[ -n $N || $N == 1 ]]; then run no; else run yes; fi
---
X=hello.sh; if [[ $X == *.sh && $X != "*.sh" && ! $X = h? ]]; then run script; fi; [[ 10 -gt 9 ]] && run gt; [[ a < b ]] && run lt
---
case "gpu-8" in cpu*) run cpu ;; gpu-[0-9] | other) run gpu ;; *) run else ;; esac; case x in (y) run y;; esac; run done
---
for i in 1 2 "3 4"; do W="$W --i $i"; done; run $W "$W"
---
for ((i = 0; i < 3; i++)); do L+=($i); done; run "${L[@]}"
---
i=0; while [ $i -lt 3 ]; do i=$((i + 1)); [ $i = 2 ] && continue; run $i; done
---
for i in {1..3} a{b,c}d; do run $i; if [ $i = 3 ]; then break; fi; done; run {x,y}/{1,2} "{x,y}" {x} {1..}
---
f() { local V=$1; run "$V" "$2" $#; shift; run "$@"; V=inner; return 0; run never; }; V=outer; f a "b c" d; run $V
---
g() { if [ $1 -gt 0 ]; then run $1; g $(($1 - 1)); fi; }; g 3
---
P=/a/b/file.tar.gz; run ${P##*/} ${P%/*} ${P#*/} ${P%%.*} ${P##*.} ${P/b/c} ${P//a/x} ${#P} ${P:3:4} ${P: -2}
---
L=LoWer; run ${L^^} ${L,,} ${L,} ${L^}
---
run $(echo a b) "$(echo a b)" `echo c` "$(basename /x/y.sh .sh)" $(basename /x/y) $(dirname /x/y/z) "$(printf '%s-%s' a b)" "$(echo -n q)"
---
D=$(cd /usr/.. && pwd); run "$D"
---
IFS=','; A=(1 2 3); run "${A[*]}" ; B=x,y; run $B; unset IFS
---
read -r -d '' T <<EOM
  --lr 1 \
  --name "$HOME_X"
  --end
EOM
run $T
---
read -ra PARTS <<< "a b c"; run ${#PARTS[@]} "${PARTS[1]}"
---
cat <<'EOM' > /dev/null
run not this $(neither)
EOM
run after
---
X=1 Y=2 run $X; run "$X"
---
X=1 $(true) $E; run $X; $(true) $E; run y
---
export E=5 F="a b"; declare G=$E; readonly H=7; run $E "$F" $G $H
---
set -- one "two three"; run "$1" "$2" "$#" "$@"; shift; run "$@"; run "${1:-none}" "${2:-none}"
---
(A=1; run $A); run "${A:-unset}"; { B=2; run $B; }; run $B
---
true && run yes; false && run no; false || run or; ! false && run not; true || run never && run both
---
run a \
  b \
  # not an argument
run next
---
run a#b '#c' "$#" #d
---
run $'a\tb\'c' "a\$b\`c\"d\e" a\$b
---
NAME=V; V=value; run "${!NAME}" "$NAME" '$NAME' "\$NAME"
---
run "['$NAME', '/x/y']" [a,b] "{a: 1}" k=[1,2] +x.y=null 'z="q"'
---
eval "W='p q'; run \$W \"\$W\""; bash -c 'true'
---
run ~ ~/x "~" x/~
---
X=5; run "$((X * 2))k" "a$((X))b$X-c" "${X}th" $X.5 "$X/$X"
---
if ((1 < 2)); then run arith; fi; if [ 1 -eq 1 -a 2 -ne 3 ]; then run and; fi; if [ ! 1 = 2 -o 1 = 2 ]; then run or; fi
---
until [ "${K:-0}" -ge 2 ]; do K=$((${K:-0} + 1)); done; run $K
---
A=(a b); A[1]=c; A[2]=d; run "${A[@]}"; B="${A[0]}${A[2]}"; run $B; C=("${A[@]}" e); run ${#C[@]}; S=x; S+=y; run $S
---
printf -v J '[%s]' "$(IFS=,; echo "${A[*]}")"; A=(1 2); printf -v J '[%s]' "$(IFS=,; echo "${A[*]}")"; run "$J"
---
run "$(echo "a(b" ')' "c)")" "$(
  echo multi
  echo line
)" end
---
run x 2>/dev/null <<<y; run y 2>&1 z
---
if false; then
cat <<E
fi; done "
E
run no; elif true; then run yes; fi; run end
---
for i in 1 2; do read -r T <<E
$i) "x"
E
run "$T"; done
---
f() { read -r T <<E
of $1
E
run $T "$@"; }; f a; f b c; if false; then g() { run never; }; fi; function h { run h; }; h
---
A=1; echo x | A=2; run $A; (A=3); run $A; { A=4; } > /dev/null; run $A
---
for i in 1 2 3; do for j in a b c; do if [ $j = b ]; then continue 1; fi; run $i $j; if [ $i = 2 ]; then break; fi; done; done
---
run "$((echo a); echo b)" $( (echo c) ) $((1 + (2 * 3))) "$(echo $(echo $(echo deep)))"
---
X="a b"; run "${X:-"c d"}" "${Y:-"c d"}" "${Y:-$X}" "${Y:+"n"}" "${Y:-q r}" "${X#"a "}" "${X%' b'}"
---
N=0; while true; do N=$((N + 1)); case $N in 1|2) continue ;; 3) run three ;; *) break ;; esac; done; run $N
---
f() { for x; do run "$x"; done; local y=$1 z; y+=!; run "$y" "${z:-none}" $#; }; f "1 2" 3; run "${y:-unset}"
---
! false && run a; if ! true || [[ a == b ]]; then run b; else run c; fi; [[ (a == a || b == c) && ! -z x ]] && run d; [[ a =~ ^(a b|a)$ ]]; run e
---
A=(1 2 3); A[3]=x; for ((i = 0, n = ${#A[@]}; i < 2; i += 1)); do A[i]=$((${A[i]} * 10)); done; run "${A[0]}" "${A[1]}" "${A[2]}" "${A[-1]}" $n
---
T='a b'; set -- $T "$T"; run $# "$1" "$3"; shift 2; run "$1" $#; IFS=:; U=p:q; run $U "$U"; unset IFS; run $U
---
run pre{a,b{1,2}}post {a,b}{c,d} x{1..3}y "{a,b}" {a} a{b,c}"d e"
---
if [ -n "$T" ]; then run no; fi; if test x = x; then run yes; fi; until false; do run once; break; done; run a; # a comment's quote
run b
---
(exit 1); run a; X=$(exit; run never); run "b$X"; f() { (return; run never); run c; }; f
---
read -r T <<-E
	with tab
	E
run $T; if false; then cat <<-'E'
	fi
	E
fi; run end
---
for i in 1 2; do break; for j in a; do run x; done; run never; done; run $i
---
eval A=(1 2); run "${A[@]}"; eval B="'x y'"; run "$B"
---
A=(a b c); N=A; K=v; M=K; run "${!M}" "${!M#v}" "${#A}" "${#A[1]}"
---
x=a; x="$x b" ; run $x; x='$x'; run $x "$x"; x="a
b"; run $x "$x"
"""

cases = []
for script in SCRIPTS.strip("\n").split("\n---\n"):
    done = subprocess.run(["bash", "-c", PRELUDE + script], capture_output=True, env={"PATH": "/usr/bin:/bin", "HOME": "/home/x"}, cwd="/")
    calls = [call.decode().split("\0")[:-1] for call in done.stdout.split(b"\1")[:-1]]
    cases.append({"script": script, "calls": calls})
GOLDEN.parent.mkdir(exist_ok=True)
GOLDEN.write_text(json.dumps(cases, indent=1) + "\n")
print(len(cases), "scripts,", sum(len(case["calls"]) for case in cases), "commands")
