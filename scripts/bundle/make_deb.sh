#!/usr/bin/env bash
# Packs a bundle of scripts/package.sh as a Debian package, and prints its path: make_deb.sh BUNDLE VERSION TORCH OUT.
# The program lives in /usr/lib/roll; /usr/bin/roll leads to its launcher. Libraries and Open MPI are Debian's.
set -euo pipefail
bundle=$1 version=$2 torch=$3 out=$4
tree=$bundle-deb
architecture=$(dpkg --print-architecture)
mkdir -p "$tree"/{DEBIAN,usr/bin,usr/lib,usr/share} "$tree-sources/debian"

cp -r "$bundle" "$tree/usr/lib/roll"
rmdir "$tree/usr/lib/roll/lib"
for share in man bash-completion zsh; do
  [[ ! -d $bundle/share/$share ]] || mv "$tree/usr/lib/roll/share/$share" "$tree/usr/share/"
done
[[ ! -d $tree/usr/share/zsh ]] || mv "$tree"/usr/share/zsh/{site-functions,vendor-completions}
[[ ! -d $tree/usr/share/man ]] || gzip -9nr "$tree/usr/share/man"
ln -s ../lib/roll/roll "$tree/usr/bin/roll"

# Which packages hold the libraries, and since which version; LibTorch's and NVIDIA's, which no package has, are only warned of.
# Not asked of libroll_arrow.so: of a library it would be an error that Arrow has no package, and the program needs all else.
printf 'Source: roll\n\nPackage: roll\nArchitecture: any\n' > "$tree-sources/debian/control"
libraries=$(cd "$tree-sources" && dpkg-shlibdeps --ignore-missing-info -O "$tree"/usr/lib/roll/bin/roll* 2>/dev/null |
  sed -n 's/^shlibs:Depends=//p')
[[ $libraries == *libc6* ]] || { echo "make_deb: dpkg-shlibdeps found no libraries; is dpkg-dev installed?" >&2; exit 1; }
cat > "$tree/DEBIAN/control" <<CONTROL
Package: roll
Version: $version
Architecture: $architecture
Maintainer: the makers of roll <roll@localhost>
Installed-Size: $(du -sk "$tree/usr" | cut -f1)
Depends: bash, python3, openmpi-bin, $libraries
Recommends: ca-certificates, openssh-client
Suggests: python3-venv
Section: science
Priority: optional
Description: reinforcement-learning post-training of language models
 Samples responses to prompts, scores them by rules, programs or judges, and
 improves the model by PPO, GRPO and the like. Start with: roll quickstart.
 .
 LibTorch $torch is not a Debian package. The torch of python3 is used, or the
 one that ROLL_TORCH names:
 .
  python3 -m venv ~/torch && ~/torch/bin/pip install torch==$torch
  export ROLL_TORCH=\$(echo ~/torch/lib/python3*/site-packages/torch)
 .
 Parquet and compressed files are read by Apache Arrow, likewise: pyarrow, or
 the folder of one that ROLL_ARROW names.
CONTROL
package=$out/roll_${version}_$architecture.deb
dpkg-deb --root-owner-group -Zxz --build "$tree" "$package" > /dev/null
echo "$package"
