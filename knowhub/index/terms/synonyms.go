package terms

import (
	"slices"
	"strings"

	"intenthint/internal/text/fold"
	"intenthint/internal/text/stem"
)

// synonyms are groups of words with the same meaning, one group per line. A
// word may be in several groups. Other forms of an English word count as the
// word; two Chinese or Japanese characters are a pair.
var synonyms = groups(`
error fail failure fault exception break crash
crash panic die segfault abort terminate kill
hang freeze stuck stall block unresponsive deadlock
slow latency lag sluggish performance delay slowness long
fast speed quick accelerate optimize performance
remove delete drop erase purge uninstall clean
clean clear purge prune wipe
add create insert new
change modify edit update alter adjust
upgrade update bump migrate
downgrade rollback revert pin
revert undo rollback restore
start launch boot startup begin run
stop shutdown terminate kill quit
restart reboot reload relaunch
install setup deploy
deploy release ship publish rollout
connect connection reach link
refuse deny reject forbid
permission access privilege denied rights forbidden
login signin authenticate auth sign
auth authentication authenticate authorization login
credential password secret token key
token key secret
certificate cert tls ssl
encrypt decrypt cipher encryption
big large huge oversized size
small tiny shrink reduce
reduce decrease lower shrink cut
increase raise grow bump
memory ram oom heap
leak grow memory
disk storage space volume
full exhausted space
cpu processor core
database db sql
postgresql postgres pg psql
mysql mariadb
mongodb mongo
kubernetes k8s kubectl kube
container docker pod
image docker
javascript js node
typescript ts
python py
golang go
repository repo git
branch merge
configuration config setting option
environment env
variable var
directory folder dir path
file document
production prod live
staging stage
development dev
test spec suite
flaky intermittent random sometimes
duplicate twice double repeat
repeat loop again
wrong incorrect bad invalid
invalid malformed corrupt bad
corrupt damage broken
missing lost vanish disappear absent
lost vanish disappear
empty blank nothing
find search locate lookup
show display render view
hide invisible
send deliver post
receive get arrive
email mail smtp
message notification
log logging trace
monitor alert observe
schedule cron job timer periodic
timeout expire deadline wait
expire expiry stale outdated old
cache stale
retry backoff repeat
limit quota throttle rate
throttle rate 429
network connection connectivity
proxy gateway
dns resolve lookup hostname
address ip
port listen bind
firewall block
parallel concurrent concurrency simultaneous
concurrent race thread
lock mutex
wait block
queue backlog
request call
response reply answer
server host machine
client consumer
user account
invoice bill receipt
pay payment charge
buy purchase order
book reserve reservation
cancel abort
meeting appointment calendar event
photo picture image
picture image screenshot
movie video film
video clip
sound audio music
translate translation language
convert conversion transform
compress zip shrink gzip
extract unpack unzip
copy clone duplicate
backup snapshot dump
restore recover recovery
save store persist write
open load
download fetch pull
upload push
parse read decode
encode serialize marshal
character encoding utf8 unicode
timezone utc time
date day
font glyph
print printer
phone mobile
laptop notebook
keyboard key
wifi wireless
battery power charge
car vehicle
flight plane airline
hotel room
restaurant table
bake cook oven
doctor clinic
compile build compilation
dependency package library module
version release
lint linter format
type typing
null nil undefined none
number integer float
column field
table schema
row record entry
index key
spreadsheet excel sheet
pdf document
cell column
page site website
website site web
browser chrome firefox
button click
scroll swipe
layout css style
dark theme
access permission
ssh remote
cost price expensive bill
cheap price cost
worker process
process daemon service
service daemon
argument flag option parameter
proxy balancer gateway cdn
cdn cloudfront cloudflare
session idle inactive alone
freeze drop disconnect hang cut
sleep wake awake standby suspend hibernate
screen monitor display
script program app application
application app program software tool
disable off block
enable on activate allow
team people colleague group everyone
slot appointment time
appointment visit slot
newsletter mail
spam junk
train rail railway tgv
cheap affordable low budget cheapest
bread dough sourdough loaf
dense heavy
caption subtitle srt
loud volume quiet
podcast episode
twofactor 2fa otp totp
factor 2fa totp authenticator code
login signin
token jwt bearer
leak publish expose accidentally public
public publish open
vpn wireguard tunnel openvpn
pet cat dog animal
food feed meal eat
charge bill debit
customer client buyer
bike bicycle cycle
child kid baby infant
kid baby child
doctor physician specialist
apartment flat rent landlord
rent lease tenant
job work task
job cron schedule
background async celery worker
speech voice transcribe dictation
transcribe transcript speech
conversation chat dialogue talk
cloud online offline
trim cut crop
limescale descale scale calcium
coffee espresso
appliance machine
headphone headset earphone earbud
meeting call conference
device gadget plug sensor
sync rsync mirror
incremental rsync diff
usb drive stick
gap hole
match lookup vlookup find
value number amount
sum total add
round cent rounding decimal
statement export transaction
account bank
abroad roaming foreign usa
america usa us
europe eu austria
data esim mobile
recurring weekly series repeat
occurrence instance single once
detect bot captcha check
element selector locator
brittle fragile break flaky
pr pull mr
automatic bot dependabot auto
dependency dependabot renovate
optimize o2 o3 release
rust cargo
compile cargo make
ram memory
vram gpu cuda
train training finetune finetuning tune
regex regexp expression
start boot ignition
stand standup daily scrum
phone iphone android cellphone smartphone
iphone ios safari apple
mac macos macbook osx
windows win powershell
terminal shell console tty
shell bash zsh sh
command cmd cli
stop abort continue exit
previous old stale
site web html
deploy invalidation push
smiley emoji
question mark
checksum sumdb hash
sign signature
gigabyte gb space
find locate where
picture image jpg heic png
reduce compress lower save
shrink compress large smaller
join merge combine concat
split divide separate
dropdown menu select popup
popup banner overlay dialog modal
front top overlay behind
behind zindex under
width wide overflow
mobile phone responsive
flash blink flicker
bright white light
theme mode
layout grid flex css
holiday vacation travel
salary wage pay
tax vat income
freelancer selfemployed freelance
hire rent rental
government authority office public
passport id visa
parcel package delivery shipment
refund compensation claim money
late delay delayed
broken defective faulty damaged
noise loud gurgle sound
heat heating radiator warm
plant herb basil flower
wash laundry washing
drum machine
water drain leak
plus additional extra
limit max cap bound
same identical duplicate equal
item record element entry
loop endless infinite cycle
endless infinite forever unlimited
permission role scope
outgoing outbound egress
incoming inbound ingress
junior beginner new
auth oauth sso saml oidc
ldap directory ad
mfa 2fa
info information detail
doc documentation manual readme
param parameter argument
perf performance benchmark profile
infra infrastructure
msg message
pkg package
lib library
dep dependency
impl implementation
async asynchronous
sync synchronous
admin administrator root superuser
app mobile
prod release
perms permission chmod chown acl
cmd instruction
stdout output
stderr error output
eof end
gc garbage collector
ci pipeline workflow jenkins
pipeline build
k8s helm
helm chart
pod restart crashloopbackoff
crashloopbackoff crash
oom killed memory
ssd disk
nic network interface
lb balancer
cert letsencrypt acme certbot
https tls ssl
csv delimiter
json yaml
xml markup
ui interface frontend
frontend client web
backend server api
api endpoint route
endpoint url
websocket socket
grpc rpc
mq queue rabbitmq kafka broker
kafka topic
redis cache
elasticsearch opensearch search
s3 bucket storage blob
iam role permission
cron systemd timer
systemd unit service
oauth token
webhook callback hook
callback handler
mock stub fake
regression bug broke
bug defect error
fix solve repair resolve
workaround fix
broken error
unavailable down outage offline
outage incident downtime
unreachable connect offline
hotfix patch
patch update
merge rebase conflict
conflict clash collision
commit revision
tag version
pull clone
monorepo workspace
subtitle transcript
ocr scan text
scan scanner
invoice receipt
vacation holiday leave
flat house home
lamp light bulb
fridge refrigerator freezer
tap faucet water
stain spot
cough cold flu
dentist tooth teeth
vaccine vaccination shot
subscription membership plan
unsubscribe cancel subscription
warranty guarantee
quick rapid
quit leave exit
看病 医院 就医
发烧 发热
孩子 宝宝 儿童
火车 高铁 列车
抢票 候补 车票 火车
会議 議事 打ち
録音 音声 議事
文字 テキスト 議事
切符 予約 新幹
フリ 固ま
错误 报错 出错 失败 异常 故障
启动 开启 打开 运行
重启 重新
停止 关闭 退出
删除 移除 清除 清理
更新 升级 修改
部署 发布 上线
连接 链接 连不
超时 太慢 很慢 延迟 变慢 缓慢
缓慢 性能 太慢 变慢 卡顿
卡住 卡死 死锁 卡顿
内存 溢出
权限 拒绝
密码 口令 凭证
配置 设置
乱码 编码
中文 汉字
文件 档案
目录 路径 文件夹
数据 资料
备份 恢复
预订 预定 订票
酒店 宾馆
发票 报销
邮件 邮箱
重复 多次 两次
丢失 不见 消失
下载 拉取
上传 推送
エラー 失敗 異常 落ち
遅い 重い 時間
起動 開始 立ち
停止 終了
削除 消す 消去 消え
更新 変更
接続 繋が 通信
設定 構成
権限 拒否
文字 化け
重複 二重
予約 予定
画像 写真
印刷 プリ
`)

// groups maps a term to the terms of its groups.
func groups(text string) map[string][]string {
	m := make(map[string][]string)
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		for i, w := range words {
			words[i] = strings.Map(fold.Simplified, stem.English(w))
		}
		for i, w := range words {
			for j, other := range words {
				if i != j && w != other && !slices.Contains(m[w], other) {
					m[w] = append(m[w], other)
				}
			}
		}
	}
	return m
}
