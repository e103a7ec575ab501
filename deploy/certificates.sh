#!/bin/sh
# Makes a certificate authority, a certificate for each NATS server and one for
# each user, in a directory:
#
#   deploy/certificates.sh DIR HOST…
#
# A HOST is a name or an address that clients use; each gets DIR/HOST.pem and
# DIR/HOST.key. Existing files are kept, so hosts can be added later. Keep
# DIR/ca.key away from servers and clients. Needs openssl.
set -eu
umask 077

if [ $# -lt 2 ]; then
	echo "usage: $0 DIR HOST..." >&2
	exit 2
fi
dir=$1
shift
mkdir -p "$dir"

if [ ! -e "$dir/ca.pem" ]; then
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 \
		-subj "/CN=intenthint authority" -addext "keyUsage=critical,keyCertSign,cRLSign" \
		-keyout "$dir/ca.key" -out "$dir/ca.pem"
fi

# issue NAME ALTERNATIVE-NAMES USAGE
issue() {
	if [ -e "$dir/$1.pem" ]; then
		return
	fi
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" \
		-keyout "$dir/$1.key" -out "$dir/$1.csr"
	printf 'subjectAltName=%s\nextendedKeyUsage=%s\nkeyUsage=critical,digitalSignature\n' "$2" "$3" >"$dir/$1.ext"
	openssl x509 -req -in "$dir/$1.csr" -CA "$dir/ca.pem" -CAkey "$dir/ca.key" -CAcreateserial \
		-days 825 -extfile "$dir/$1.ext" -out "$dir/$1.pem"
	rm "$dir/$1.csr" "$dir/$1.ext"
}

for host in "$@"; do
	case $host in
	*:*) names="IP:$host" ;;
	*[!0-9.]*) names="DNS:$host" ;;
	*) names="IP:$host" ;;
	esac
	# Servers of a cluster are each other's clients.
	issue "$host" "$names" serverAuth,clientAuth
done
for user in gateway gateway2 consumer operator system; do
	issue "$user" "DNS:$user" clientAuth
done
