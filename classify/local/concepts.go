package local

import (
	"strings"
	"unicode"

	"intenthint/internal/text/stem"
)

// concepts are groups of words with similar meanings: an example that says
// "buy" is then some evidence for a message that says "purchase", and one that
// says "weather" for 天氣. There is one group per line; a word belongs to the
// first group that names it. English words also stand for their other forms
// (see package stem). Chinese words are in simplified characters (see compared) and two
// characters long.
const concepts = `
buy purchase acquire 购买 购物
sell sale resell 出售 贩卖
price cost fee charge fare rate expensive cheap 价格 费用 收费
pay payment paid payable 付款 支付 缴费
bill invoice receipt 帐单 账单 发票
money cash fund currency dollar euro pound yen buck 现金 金钱 货币
exchange convert conversion 兑换 换算 转换
transfer send wire remit sent 转账 汇款 发送
refund reimburse repay 退款 退费
bank banking 银行
balance 余额
deposit topup credited 存款 储值
withdraw withdrawal withdrew 提款 取款
atm cashpoint 取款机
loan borrow lend mortgage debt owe 贷款 借款
tax irs 税金 报税
salary wage paycheck payday income earn earnings 薪水 工资 薪资
budget spend spending spent expense expenditure 预算 花费 支出
save saving 储蓄
invest investment stock share 投资 股票
insurance insured coverage 保险
card 卡片
account 账户 帐户 帐号 账号
password passcode pin pincode credential 密码
login signin log sign 登入 登录
verify verification authenticate confirm confirmation validate 验证 确认
identity id identification passport 身份 护照
fraud scam fraudulent suspicious 诈骗 可疑
steal stolen theft thief robbed 被偷 偷走
lose lost missing misplace gone disappear vanish 遗失 弄丢 丢失 不见
find locate search seek spot 寻找 搜索 查找 搜寻
where location place whereabout position 地点 位置 哪里 在哪
direction route way path navigate navigation 路线 方向 导航
distance far long mile kilometer km length 距离 多远
map 地图
traffic jam congestion 交通 塞车 路况
drive driving driven ride 开车 驾驶
car vehicle auto automobile truck 汽车 车子
gas petrol fuel gasoline 汽油 加油
tire tyre wheel 轮胎
oil 机油
taxi cab uber lyft 出租 计程
bus coach 公车 巴士
train railway rail subway metro tram 火车 地铁 捷运 高铁
plane flight fly airplane aircraft airline 航班 飞机 机票 班机
airport terminal 机场
hotel motel hostel inn lodging accommodation airbnb 酒店 饭店 旅馆 住宿
trip travel vacation holiday journey tour tourist visit 旅行 旅游 出差 度假 行程
luggage baggage suitcase bag 行李
visa 签证
vaccine vaccination shot immunize 疫苗
book reserve reservation booking 预订 预约 预定 订位
ticket 门票
cancel abort revoke undo void  取消 撤销
change modify alter edit adjust amend switch 更改 修改 变更 编辑 更换
update refresh upgrade renew renewal 更新 升级
remove delete erase clear discard eliminate rid 删除 移除 清除
add append include insert put 添加 增加 加入 新增
create make generate produce build establish 创建 建立 制作 生成 产生
start begin launch commence initiate activate enable 开始 启动 启用
stop end quit halt terminate finish cease disable deactivate 停止 结束 关闭
pause hold suspend freeze block 暂停 冻结
resume continue proceed 继续
open unlock 打开 开启
close shut lock 关上 锁上
raise increase higher boost 提高 增加 调高
lower decrease reduce dim 降低 减少 调低
show display view list see look 显示 查看 列出 看看
check verify inspect review examine 检查 审查 审核
tell explain describe clarify elaborate 解释 说明 描述 告诉
define definition meaning mean synonym 意思 定义 含义
teach learn study lesson tutorial 学习 教学 教我
translate translation translator interpret 翻译 译成 翻成
language 语言
english spanish french german chinese japanese italian korean portuguese russian arabic hindi dutch swedish norwegian danish finnish polish greek turkish hebrew latin vietnamese thai tagalog mandarin cantonese czech hungarian ukrainian swahili 英文 英语 中文 日文 日语 法语 法文 德语 德文 西语 韩文 韩语
speak talk chat say converse conversation 说话 聊天 聊聊 谈谈
call phone dial ring telephone cellphone smartphone mobile cell iphone android 电话 手机 打给
message text sms 短信 讯息 消息 信息 简讯
email mail inbox gmail 邮件 电邮 信箱 邮箱
reply respond answer response 回复 回答 回信
contact 联系 联络
post tweet facebook twitter instagram social 推特 脸书 发文
notify notification alert notice 通知 提醒
remind reminder remember 记得 记住
alarm wake 闹钟 叫醒
timer countdown stopwatch 计时 倒数
calendar schedule agenda appointment meeting event 日历 日程 行事 会议 约会
task todo chore 任务 待办
note memo jot 笔记 备忘 记录
list 清单 列表
date day 日期 几号
time clock hour minute oclock 时间 几点 小时 分钟
today tonight 今天 今晚 今日
tomorrow 明天 明日
yesterday 昨天 昨日
week weekend weekly 本周 下周 周末 星期 礼拜
month monthly 月份 每月
year annual yearly 今年 每年
monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun
january february march april june july august september october november december jan feb mar apr jun jul aug sept sep oct nov dec
morning afternoon evening noon night midnight am pm 早上 下午 晚上 上午 中午
soon quick quickly fast urgent urgently immediately asap hurry 紧急 尽快 马上 立刻
late delay delayed slow slowly pending waiting wait 延迟 延误 等待 很慢
early earlier
arrive arrival deliver delivery ship shipping shipment shipped come came 到达 送达 寄送 配送 运送
package parcel order 包裹 订单
track tracking trace status progress 追踪 跟踪 状态 进度
return 退货 退回
weather forecast climate 天气 气象 预报
rain rainy raining umbrella shower drizzle 下雨 雨伞
snow snowy snowing 下雪
sun sunny sunshine 晴天
cloud cloudy overcast 多云
wind windy storm stormy thunderstorm hurricane 刮风 台风 暴风
temperature hot cold warm cool degree fahrenheit celsius chilly freezing heat humidity humid 温度 气温 多冷 多热
light lamp bulb lighting 灯光 电灯 开灯 关灯
color colour red blue green yellow purple orange pink white black 颜色
thermostat heater heating ac hvac 空调 冷气 暖气
tv television 电视
vacuum hoover roomba clean cleaning cleaner 打扫 清洁 扫地
coffee espresso latte cappuccino 咖啡
tea 泡茶
plug socket outlet 插座
volume louder quieter mute sound loud quiet silence noise 音量 声音 静音
play listen hear stream 播放 收听
music song tune track melody 音乐 歌曲 听歌 一首
album playlist 专辑 歌单
artist singer band musician 歌手 乐团
radio fm station broadcast 广播 电台
podcast episode 播客
audiobook 有声
movie film cinema theater theatre 电影
video youtube clip footage 视频 影片
watch 观看
show series season 节目 剧集
game gaming 游戏
joke funny humor laugh hilarious 笑话 好笑
story tale novel fiction 故事 小说
poem poetry verse haiku 诗歌 写诗
essay article blog 文章 作文
book 书籍
news headline 新闻 头条
sport football soccer basketball baseball tennis 运动 足球 篮球
score match game
eat food meal dish cuisine dinner lunch breakfast supper snack 食物 晚餐 午餐 早餐 吃饭 美食
cook cooking bake recipe ingredient 做菜 食谱 烹饪 料理
restaurant diner cafe eatery bistro 餐厅 餐馆
takeout takeaway delivery 外卖 外带
chicken beef pork fish salmon egg cheese bread butter milk rice pasta spaghetti lasagna pizza burger sandwich taco burrito sushi soup salad cake cookie pie pancake chocolate sugar flour potato tomato onion garlic apple banana orange lemon bean pepper bacon steak shrimp curry noodle fruit vegetable 鸡肉 牛肉 猪肉 鸡蛋 面包 牛奶 米饭 蛋糕 水果 蔬菜
calorie nutrition nutritional nutrient healthy diet protein fat carb 卡路里 热量 营养 饮食
substitute replace replacement swap instead alternative 替代 替换
drink beverage water 饮料 喝水
grocery supermarket store shop mall 超市 商店
health medical doctor physician hospital clinic medicine 健康 医生 医院 看病 医疗 药物
sick ill pain hurt ache headache fever symptom 生病 疼痛 头痛 发烧 症状
exercise workout gym fitness 健身 锻炼
sleep 睡觉 睡眠
work job office career employment employer 工作 职业 公司
vacation pto leave dayoff 请假 休假
resume cv interview 简历 面试
boss manager supervisor colleague coworker 老板 主管 同事
customer client support agent human representative person 客服 真人
name called nickname named 名字 名称
age old birthday born 年龄 岁数 生日
family mother father mom dad wife husband parent son daughter brother sister kid child 家人 妈妈 爸爸
friend buddy pal 朋友
love like enjoy adore favorite favourite prefer 喜欢 最爱 爱好
hate dislike annoying awful terrible bad horrible worst 讨厌 糟糕
good great nice awesome excellent wonderful amazing cool fantastic best perfect 很好 很棒
happy glad joy pleased 开心 高兴
sad unhappy depressed upset angry mad frustrated 难过 伤心 生气 沮丧
stress anxious anxiety worried worry nervous 压力 焦虑 担心
feel feeling emotion mood 感觉 心情 情绪
hello hi hey greeting 你好 哈喽 您好
goodbye bye farewell later 再见 拜拜
thank thanks appreciate grateful 谢谢 感谢
sorry apologize apology 抱歉 对不
yes yeah yep sure ok okay correct right affirmative 是的 好的 可以 没错
no nope nah negative wrong 不是 不要 不行
maybe perhaps unsure 也许 可能
repeat again rephrase 重复 再说
help assist support aid 帮助 帮忙 协助
problem issue trouble error fault bug glitch malfunction 问题 错误 故障 毛病
fail failed failure decline declined reject rejected refuse denied unsuccessful 失败 拒绝 被拒
broken break damaged crack crash broke 损坏 坏了 崩溃
fix repair resolve solve debug troubleshoot 修复 修理 解决 调试 除错
code program script function programming software 代码 程序 编程 函数 程式 写码
test testing 测试
repository repo git github commit branch merge pull 仓库 提交 分支
deploy deployment release ship 部署 发布
server cluster host infrastructure kubernetes docker container 服务 主机 伺服
database sql query table 数据 资料 查询
file document folder directory pdf 文件 文档 档案 目录
download upload 下载 上传
install setup configure config setting preference 安装 设置 设定 配置
image picture photo photograph pic 图片 照片 图像
draw paint sketch illustrate 画图 绘画
analyze analysis analyse analytics statistic 分析 统计
compare comparison versus vs difference differ 比较 对比 差别 区别
summarize summary summarise tldr digest 总结 摘要 概括
calculate math sum multiply divide compute plus minus equal 计算 数学 加减
measure measurement unit inch pound ounce gram liter cup 测量 单位
recommend suggest recommendation suggestion advice advise idea 推荐 建议 意见
rating review rate star 评价 评论
decide decision choose choice pick select option 决定 选择
plan planning prepare 计划 规划 准备
permission allow permit allowed authorize 允许 权限 授权
security secure safe safety vulnerability 安全 漏洞
network internet wifi online connection connect 网络 连接 上网 网路
website site page url link web browser 网站 网页 链接 浏览
computer laptop pc desktop machine 电脑 计算机
battery charger power 电池 充电
limit maximum minimum max min cap restriction 限制 上限 最大
free complimentary 免费
bonus reward point cashback perk 奖励 积分 点数
credit 信用
interest apr 利率 利息
france germany italy spain england britain uk ireland scotland portugal greece turkey russia china japan korea india thailand vietnam philippines indonesia australia canada mexico brazil argentina chile peru egypt morocco kenya africa europe asia america usa switzerland austria belgium netherlands poland sweden norway denmark finland iceland israel taiwan singapore malaysia 台湾 日本 美国 中国 英国 法国 德国 韩国 香港
london paris berlin tokyo rome madrid barcelona amsterdam vienna moscow beijing shanghai delhi mumbai dubai sydney toronto vancouver chicago boston seattle denver dallas houston austin miami atlanta phoenix philadelphia portland vegas orlando york angeles francisco diego texas california florida ohio michigan utah oregon 台北 东京 大阪 上海 北京 高雄 纽约 伦敦 巴黎
country nation abroad overseas foreign international 国家 国外 国际
city town capital 城市
home house apartment flat 家里 房子
room kitchen bedroom bathroom livingroom 房间 厨房 卧室
school university college class course homework 学校 大学 课程 作业
history past previous previously before recent recently last latest 历史 之前 最近 上次
world earth planet globe 世界 地球
random coin flip dice roll 随机 硬币 骰子
fact trivia fun 事实 冷知
life alive meaning 人生
robot ai bot artificial 机器 人工
hobby interest 兴趣
pet dog cat animal 宠物 动物
flag
spell spelling 拼写 拼法
`

// conceptOf maps the hash of a word, or of two or three characters, to its group;
// conceptOfStart the hash of the beginning of a word.
var conceptOf, conceptOfStart = readConcepts(concepts, conceptsElsewhere+conceptsEurope+conceptsFurther)

// minStart and maxStart are the lengths in which conceptsElsewhere and conceptsEurope
// give beginnings, in characters.
const (
	minStart = 3
	maxStart = 13
)

func readConcepts(groups, elsewhere string) (words, starts map[uint64]uint64) {
	words, starts = make(map[uint64]uint64), make(map[uint64]uint64)
	var buf [stem.Longest]rune
	group := rune(0)
	for line := range strings.Lines(strings.TrimSpace(groups)) {
		group++
		id := hashStep(hashStep(hashSeed, unicode.MaxRune+1), group)
		for word := range strings.FieldsSeq(line) {
			runes := folded(word)
			for _, h := range []uint64{hashWord(runes), hashWord(stem.EnglishRunes(buf[:0], runes))} {
				if _, ok := words[h]; !ok {
					words[h] = id
				}
			}
		}
	}
	for line := range strings.Lines(strings.TrimSpace(elsewhere)) {
		var id uint64
		for i, word := range strings.Fields(line) {
			start, isStart := strings.CutSuffix(word, "-")
			runes := folded(start)
			into := words
			if isStart {
				into = starts
			}
			h := hashWord(runes)
			if i == 0 {
				id = words[h]
			} else if _, ok := into[h]; !ok {
				into[h] = id
			}
		}
	}
	return words, starts
}

// conceptOfWord returns the group of a word whose stem has the hash root: that of
// the whole word, otherwise of the longest beginning that has one.
func conceptOfWord(root uint64, word []rune) (group uint64, ok bool) {
	if group, ok = conceptOf[root]; ok {
		return group, true
	}
	if group, ok = conceptOfStartOf(word); !ok && len(word) > minStart && isHebrewPrefix(word[0]) {
		if group, ok = conceptOf[hashWord(word[1:])]; !ok {
			group, ok = conceptOfStartOf(word[1:])
		}
	}
	return group, ok
}

// isHebrewPrefix reports whether a letter may be a Hebrew article, preposition or
// conjunction, which are written as one word with what follows.
func isHebrewPrefix(r rune) bool {
	switch r {
	case 'ה', 'ב', 'ל', 'מ', 'ו', 'כ', 'ש':
		return true
	}
	return false
}

// conceptOfStartOf returns the group of the longest beginning of a word that has one.
func conceptOfStartOf(word []rune) (group uint64, ok bool) {
	h := uint64(hashSeed)
	for i, r := range word[:min(len(word), maxStart)] {
		if h = hashStep(h, r); i+1 >= minStart {
			if c, found := conceptOfStart[h]; found {
				group, ok = c, true
			}
		}
	}
	return group, ok
}
