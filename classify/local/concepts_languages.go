//nolint:misspell // the words are of many languages
package local

// conceptsElsewhere adds words of further languages to the groups of concepts, in
// the order German, Spanish, French, Portuguese, Italian, Russian, Turkish,
// Arabic, Hindi, Japanese, Korean: an example in one language is then some
// evidence for a message in another. A line begins with a word of the group.
// A word with a hyphen stands for all words that begin with it. In scripts
// without spaces, two or three characters are compared. Words that are also
// English, and beginnings of English words, are left out.
const conceptsElsewhere = `
buy kaufen kaufe gekauft comprar compro acheter achete achat comprare acquist- купи- покуп- satın شراء اشتري خرید- 購入 買い 買う 구매 사고
sell verkauf- vender vendre vendere прода- satış satmak بيع बेच- 売り 売る 판매
price preis- kosten teuer billig precio cuesta barato prix coute preco quanto prezzo цен- стоит стоимост- fiyat- kaç سعر اسعار أسعار بكم कीमत दाम 値段 料金 가격 얼마 비용
pay bezahl- zahlen zahlung pagar pago payer paiement pagare pagamento плат- оплат- öde- دفع ادفع भुगतान 支払 払い 결제 지불
bill rechnung- factura- recibo facture- fatura- bolleta fattura- счет счёт чек فاتورة فواتير बिल 請求 領収 청구 영수
money geld dinero argent dinheiro grana soldi деньг- денег فلوس مال पैस- रुप- お金 現金
exchange umrechn- wechselkurs cambio convertir taux kurs- курс- döviz kuru صرف تحويل विनिमय 為替 両替 환율 환전
transfer uberweis- transferir transferencia virement bonifico перевест- havale حوالة ट्रांसफर 振込 송금 이체
refund erstatt- reembols- rembours- rimbors- возврат iade استرداد रिफंड 返金 환불
loan kredit darlehen prestamo pret credito emprestimo mutuo prestito кредит- ипотек- kredi- قرض लोन 借金 대출
tax steuer- impuesto- impot- imposto- tasse fisco налог- vergi- ضريبة ضرائب टैक्स 税金 確定 세금
salary gehalt lohn sueldo salario salaire stipendio зарплат- maaş- راتب वेतन 給料 月給 월급 연봉
budget ausgab- gasto- gastei depens- despesa- spes- расход- бюджет- harca- bütçe- مصاريف ميزانية खर्च- बजट 予算 支出 家計 예산 지출 가계
save sparen sparplan- ahorr- epargn- poupar economiz- risparm- коп- tasarruf- biriktir- ادخار توفير बचत 節約 貯金 저축
invest anlage aktien invertir accion- bourse acoes azion- инвест- акци- yatırım- hisse- استثمار أسهم निवेश शेयर 投資 株式 투자 주식
insurance versicher- seguro- assuranc- assicur- страхов- sigorta- تأمين बीमा 保険 보험
account konto cuenta compte conta contos аккаунт- hesab- حساب- खात- 口座 계좌 계정
password passwort kennwort contrasena senha- parola- парол- şifre- باسورد पासवर्ड パスワ 비번 비밀
login anmeld- einlogg- connexion connecter entrar acced- войти giriş- دخول लॉगिन ログイ 로그
fraud betrug phishing- estafa arnaque golpe truffa мошен- dolandır- احتيال نصب धोखा 詐欺 사기
steal gestohlen robado robaron vole roubaram rubat- украл- çalın- سرق- चोरी 盗ま 도난 훔쳐
find bulur bulun bulma- finde buscar busca encuentra cherch- trouve- acha- trova- cerca- найд- ищу ищи ищет найти поиск- ara- ابحث دور لاقي खोज- ढूँढ- ढूंढ- 探し 検索 찾아 검색
where donde onde где nerede أين وين فين कहाँ कहां どこ 어디
direction weg camino chemin caminho strada маршрут- yol- طريق रास्त- 道順 길찾
traffic stau verkehr trafico atasco bouchon- transito trafego traffico пробк- trafik- زحمة مرور ट्रैफिक 渋滞 교통
car wagen coche carro voiture macchina машин- автомобил- araba- سيارة गाड़ी कार 自動 자동
train zug bahn treno trem comboio поезд- قطار قطر ट्रेन मेट्रो 電車 新幹 기차 지하
plane flug- vuelo- vol vols voo voos volo voli рейс- самол- uçak- uçuş- طيارة طيران رحلة उड़ान फ्लाइट 飛行 航空 비행 항공
hotel unterkunft alojamient- hebergement hospedage- alloggi- отел- гостиниц- otel- فندق होटल ホテル 호텔 숙소
trip reise- urlaub viaje- viajar voyage- vacances viagem viagens viaggi- vacanz- поездк- путешеств- отпуск- gezi- tatil- seyahat- سفر سفرة यात्रा घूमन- 旅行 여행 휴가
luggage gepack koffer equipaje maleta bagage- valise bagagem mala bagagl- valigi- багаж- чемодан- bavul- شنطة حقائب सामान 荷物 수하 짐
visa visum visado visto виз- vize- تأشيرة فيزا वीज़ा वीजा ビザ 비자
book reserva- reserver reservier- buch- prenot- брон- rezerv- احجز حجز बुक- 予約 예약
ticket fahrkart- karte- billete- entrada- billet- bilhete- bigliett- билет- bilet- تذكرة تذاكر टिकट 切符 チケッ 티켓 표를
cancel cancelar cancela- cancelo storni- kundig- absag- anul- annul- отмен- iptal- الغ- إلغاء ألغي रद्द कैंसल キャン 取消 취소
change ander- andere aendern cambia- mudar muda troca- измен- помен- перенес- değiştir- غير غيّر تغيير बदल- 変更 変え 바꿔 변경
update aktualis- actualiz- atualiz- aggiorn- обнов- güncelle- حدّث حدث تحديث अपडेट 更新 アップ 업데
remove silin- silme- siler sil losch- entfern- borra- elimin- quita- supprim- efface- enlev- apaga- togli- удал- сотр- kaldır- احذف امسح हटा- मिटा- 削除 消し 消す 삭제 지워
add hinzufug- fuge anad- agreg- ajout- adiciona- acrescent- aggiung- добав- ekle- أضف اضف ضيف زيد जोड़- डाल- 追加 추가
create erstell- mach- crear cree- creer faire cria- criar созда- сдела- oluştur- yap- hazırla- اعمل سوي أنشئ बना- 作成 作っ 作り 만들
start anfang- empiez- inicia- demarr- lance- comec- avvia- inizi- начн- начать запуст- başla- başlat- ابدأ شغل शुरू 開始 起動 시작
stop aufhor- deten- parar arret- pare- ferma- останов- durdur- أوقف وقف रोक- बंद 停止 止め 중지 멈춰
pause pausier- duraklat- 一時 일시
open açar açık açma offne- aufmach- abre- abrir ouvre- ouvrir apri aprir- откро- открыть افتح खोल- 開い 開け 열어
close schliess- zumach- cierra- cerrar ferme- fermer fecha- fechar chiudi- закро- закрыть kapat- اقفل سكر أغلق 閉じ 閉め 닫아 잠가
raise erhoh- lauter sube- subir aument- alza- повыс- прибав- yükselt- artır- ارفع زود बढ़ा- 上げ 올려
lower senk- leiser baja- bajar baiss- diminu- abbass- понижа- убав- azalt- kıs- خفض وطي اخفض कम 下げ 낮춰 줄여
show zeig- muestra- ensena- montre- mostr- mostra- покаж- göster- ورني وريني أرني اعرض दिखा- 見せ 表示 보여
check verifica- pruf- uberpruf- revisa- comprueb- verific- controll- провер- kontrol- تحقق افحص تأكد जाँच- जांच- चेक 確認 確か 확인 점검
explain erklar- expliqu- spieg- объясн- расскаж- açıkla- anlat- اشرح समझा- 説明 教え 설명 알려
definition bedeut- heisst значит значени- anlam- معنى يعني मतलब अर्थ 意味 의미 무슨
teach lern- lerne aprend- apprend- ensin- impar- учи- учу- выуч- öğren- تعلم اتعلم أتعلم सीख- सिखा- 勉強 学び 学習 공부 배우 학습
translate ubersetz- traduc- tradui- traduz- tradur- перевед- перевод çevir- ترجم अनुवाद 翻訳 번역
language sprache- idioma- lengua langue- lingua- язык- dil لغة भाषा 言語 언어
english englisch- ingles inglesa anglais- inglese- spanisch- espanol- espagnol- franzosisch- frances- francais- französ- немец- испанс- англий- француз- японс- китайс- ingilizce- almanca- fransızca- ispanyolca- japonca- rusça- deutsch- aleman allemand- alemao tedesc- portugues- portoghes- italien- italian- japanisch japones japonais coreano- koreanisch انجليزي- إنجليزي- الماني ألماني فرنسي إسباني अंग्रेज़ी अंग्रेजी जर्मन फ्रेंच 英語 日語 中国 韓国 英文 영어 일본 독일
speak sprech- habla- parle- parler fala- parla- говор- поговор- konuş- تكلم احكي बात 話し 話す 대화 말해
call ruf anruf- anzuruf- llama- llame appelle- appeler telephone- liga- telefona- chiama- позвон- ara اتصل كلم फोन फ़ोन कॉल 電話 전화
message nachricht- schreib- mensaje- textos mensagem mensagens messagg- сообщен- напиши- смс mesaj- رسالة رسائل واتساب संदेश मैसेज メッセ 連絡 문자 메시 카톡
email correo- courriel- posta- письм- почт- eposta بريد إيميل ايميل ईमेल मेल メール 受信 메일 이메
reply antwort- contest- repond- rispond- ответ- cevap- yanıt- رد ارد जवाब 返信 返事 回答 답장 회신 답변
notify benachricht- aviso avis- notific- уведом- bildirim- إشعار إشعارات सूचना 通知 알림
remind erinner- recuerda- rappell- lembr- lembre- ricorda- напомн- hatırlat- ذكرني فكرني याद 思い リマイ 기억
alarm weck- wecker despert- reveil- sveglia- будильник- разбуд- alarm- uyandır- منبه المنبه صحيني अलार्म 目覚 アラー 알람 깨워
timer cronometr- minuteur таймер- zamanlay- مؤقت टाइमर タイマ 타이 분후
calendar termine terminplan- kalender calendario cita citas rdv agenda- reuniao compromiss- appuntament- riunione календар- встреч- takvim- randevu- toplantı- موعد مواعيد اجتماع تقويم मीटिंग अपॉइंटमेंट カレン 予定 会議 일정 회의 약속
task aufgabe- tarea- tache- tarefa- compit- задач- дел- görev- yapılacak- مهمة مهام टास्क タスク 課題 할일 업무
note notiz- nota notas anota- appunt- заметк- запиш- ملاحظة ملاحظات नोट メモを ノート 메모 노트
list lista- elenc- список- списк- listele- قائمة सूची लिस्ट リスト 一覧 목록 리스
date datum дата дату tarih- تاريخ तारीख 日付 날짜
time zeit uhr hora- heure- ora orari время часов saat- وقت ساعة الساعة समय बजे 時間 何時 시간 몇시
today heute- hoy aujourdhui hoje oggi сегодня bugün- اليوم النهارده आज 今日 今夜 오늘
tomorrow morgen manana demain amanha domani завтра- yarın- بكرة غدا कल 明日 내일
yesterday gestern- ayer hier ontem ieri вчера- dün أمس امبارح 昨日 어제
week woche- semana- semaine- settiman- недел- hafta- أسبوع الأسبوع हफ़्ते हफ्ते सप्ताह 今週 来週 先週 주말 이번주 다음주 지난주
month monat- meses mois mese mesi месяц- أشهر شهر महीन- 今月 先月 来月 이번달 지난달
year jahr- ano anos annee- anno anni год года лет- yıl- sene- سنة سنوات साल 今年 去年 올해 작년
monday montag- dienstag- mittwoch- donnerstag- freitag- samstag- sonntag- lunes martes miercoles jueves viernes sabado domingo lundi mardi mercredi jeudi vendredi samedi dimanche segunda terca quarta quinta sexta lunedi martedi mercoledi giovedi venerdi sabato domenica понедельник- вторник- сред- четверг- пятниц- суббот- воскресен- pazartesi- salı- çarşamba- perşembe- cuma- cumartesi- pazar- الاثنين الثلاثاء الأربعاء الخميس الجمعة السبت الأحد सोमवार मंगलवार बुधवार गुरुवार शुक्रवार शनिवार रविवार 月曜 火曜 水曜 木曜 金曜 土曜 日曜 월요 화요 수요 목요 금요 토요 일요
morning nachmittag- abend- vormittag- mittag- tarde noche matin soir- noite mattin- pomerigg- sera stasera утр- вечер- дня ноч- sabah- akşam- öğlen öğleden gece- صباح مساء الصبح المسا सुबह शाम रात दोपहर 朝の 午前 午後 今晩 夕方 아침 오후 오전 저녁
deliver liefer- versand- zustell- envio- entreg- livraison livr- consegn- spedi- доставк- teslim- kargo- توصيل شحن डिलीवरी 配達 配送 届く 배송 배달
package paket- paquete- colis pacote encomend- pacco pacchi посылк- sipariş- طرد طلبية पार्सल 注文 택배 주문 소포
return zuruckgeb- retoure devolv- devoluc- renvoy- retourn- restitu- вернуть iade- إرجاع ارجع वापस 返品 返却 반품
weather wetter- tiempo meteo- previsao погод- hava- طقس الجو मौसम 天気 날씨
rain regen- regn- lluvia- llov- llueve pluie- pleu- chuva- chov- pioggia piov- дожд- зонт- yağmur- مطر تمطر बारिश 雨が 雨降 降る 비가 우산
snow neve schnee- schnei- niev- nieve neige- nevic- снег- ثلج बर्फ 大雪 눈이
temperature temperatur- grad calor frio chaud froid caldo freddo температур- градус- тепло холодно sıcaklık- derece- sıcak- soğuk- حرارة درجة حر برد तापमान ठंड गर्मी 気温 温度 暑い 寒い 온도 기온
light licht- lampe- luz luces lumiere- luce luci lampad- свет- ламп- ışık- lamba- نور أنوار إضاءة लाइट बत्ती 電気 照明 ライト 조명 전등 불꺼
thermostat heizung- calefacc- chauff- climatis- aquec- riscald- отоплен- обогрев- кондиционер- klima- kalorifer- ısıt- تكييف مكيف تدفئة एसी हीटर 暖房 冷房 エアコ 에어컨 난방 보일러
tv fernseh- televis- televiseur телевизор- televizyon- تلفزيون التلفزيون टीवी テレビ 티비 텔레
vacuum staubsaug- saugrob- aspirad- aspirat- aspirapol- пылесос- süpürge- مكنسة वैक्यूम 掃除 청소
volume lautstark- volumen- громкост- звук- صوت आवाज़ आवाज 音量 음량 볼륨 소리
play abspiel- pon joue- mets toca tocar metti riprod- включи- сыграй- çal شغّل बजा- चला- 再生 かけて 流して 틀어 재생
music musik- musique- musiche музык- müzik- موسيقى أغاني اغاني संगीत गान- 音楽 音乐 曲を 음악 노래
song lieder cancion- chanson- musicas canzon- песн- şarkı- أغنية اغنية गाना गीत 曲名 歌詞
movie film- pelicula- filme- фильм- кино- filmi- فيلم فلم أفلام फिल्म फ़िल्म मूवी 映画 영화
series serie- serien serien- сериал- dizi- مسلسل सीरीज़ सीरीज ドラマ 드라 시리
podcast подкаст- بودكاست पॉडकास्ट
game spiele juego- jeu jeux jogo- gioco giochi игр- oyun- لعبة ألعاب गेम खेल ゲーム 게임
joke witz- chiste- blague- piada- barzellett- шутк- анекдот- fıkra- espri- نكتة चुटकुल- 冗談 농담
story geschichte- cuento- historia- histoire- conte historia racconto storia- рассказ- сказк- истори- hikaye- قصة حكاية कहानी 物語 小説 이야 소설
poem gedicht- poema- poeme- poesi- стих- şiir- قصيدة شعر कविता 俳句 詩を 시를
article artikel- articul- artig- articol- стать- makale- مقال लेख 記事 기사
news nachrichten- noticia- actualit- nouvelle- notizi- новост- haber- أخبار اخبار खबर- समाचार ニュー 最新 뉴스 소식
sport fussball- futbol- football- futebol- calcio футбол- مباراة كرة मैच क्रिकेट 試合 野球 サッカ 경기 축구 야구
recipe rezept- receta- recette- receita- ricett- рецепт- tarif- وصفة रेसिपी レシピ 料理 레시 요리
food abendessen fruhstuck mittagessen comida- cena desayuno repas diner- manger comid- jantar almoco cibo mangia- pranzo еда поесть ужин- обед- завтрак- yemek- yiyecek- kahvaltı- أكل عشاء فطور غداء खाना खाने 食事 夕飯 ご飯 음식 저녁밥 점심
restaurant restaurante- restoran- ristorant- trattoria ресторан- lokanta- مطعم रेस्टोरेंट 食堂 レスト 식당 맛집
diet ernahr- kalori- dieta- regime- калори- питани- диет- beslenme- diyet- رجيم سعرات حمية आहार कैलोरी 栄養 食事制 식단 칼로 다이어
grocery supermarkt einkauf- supermercad- compras mercado courses supermarch- spesa магазин- продукт- bakkal- بقالة سوبرماركت किराना 買物 スーパ 마트 장보
doctor arzt- arztin medico- medecin- dottor- medic- врач- доктор- лекарств- таблетк- doktor- ilaç- دكتور طبيب دواء डॉक्टर दवा- 病院 医者 薬を 병원 의사 약을
pain schmerz- weh krank- fieber duele fiebre mal douleur- fievre dor dores febre dolore febbre боль- болит температурит ağrı- ateşi- hasta- ألم وجع حرارته صداع दर्द बुखार 痛い 痛み 発熱 頭痛 熱が 아파 통증 두통 열이
exercise trainier- trainings- ejercicio- entren- exercice- entrain- exercicio- treino- eserciz- трениров- упражнен- egzersiz- antrenman- تمرين تمارين व्यायाम कसरत 運動 筋トレ 운동
sleep schlaf- dormir duerm- sueno dors dorm- sonn- спать сон сплю uyku- uyu- نوم انام أنام नींद सोन- 睡眠 眠れ 寝る 수면 잠이
work işe işi işim işyer- arbeit- trabajo- travail- trabalho- lavoro- работ- عمل नौकरी ऑफिस 仕事 職場 転職 직장 회사
resume lebenslauf bewerbung- curricul- резюме özgeçmiş سيرة रिज्यूमे बायोडाटा 履歴 面接 이력 면접
boss chef- jefe jefa patron patronne chefe capo начальник- шеф- patron- müdür- مدير बॉस 上司 部長 상사 팀장 부장
customer kunde- kunden cliente- client- клиент- müşteri- عميل زبون ग्राहक 顧客 取引 고객
name heisse nombre- prenom nome- nomi имя зовут isim adı اسم नाम 名前 이름
birthday geburtstag- cumple- anniversaire anivers- complean- рожден- doğum- ميلاد जन्मदिन 誕生 생일
family mutter vater madre padre mere pere mae pai mamma муж- жен- мам- пап- anne- أمي ابوي زوجتي ماما माँ मां पापा पत्नी 家族 妻が 母が 父が 가족 엄마 아빠 남편 아내
child kinder sohn tochter hijo hija nino enfant- fils fille filho filha figli- bambin- сын- доч- ребен- реб- çocu- oğlu- kızı- ابني بنتي طفل बच्च- बेट- 子供 息子 娘が 아이 아들
friend freund- amigo- amiga- ami amis copain amic- друг- подруг- arkadaş- صديق صاحبي दोस्त 友達 친구
love sevgi- seviyor- liebe- gefallt gusta- quiero aime- adore gosto- adoro piace- люблю нрав- حب بحب पसंद 好き 좋아
good gut gute bueno buena bonne bom buono buona хорош- iyi güzel- حلو جيد अच्छ- 良い 良か
angry wutend sauer traurig enfad- triste enojad- triste- fache raiva arrabbiat- груст- злюсь злил- üzgün- kızgın- sinir- زعلان غاضب حزين गुस्सा दुखी 悲し 怒り 落ち込 화가 슬퍼 속상
stress gestresst sorge- angst estres- preocup- ansios- inquiet- angoiss- ansia preoccup- тревож- стресс- пережива- kaygı- endişe- stres- قلق توتر तनाव चिंता 不安 心配 불안 걱정
feel gefuhl- fuhl- stimmung- siento sentia sentir sentiment- humeur sentia- sentiv- umore чувств- настроен- hisset- duygu- شعور أحس مزاج महसूस मूड 気持 気分 기분 감정
hello hallo bonjour salut ciao привет- здравств- merhaba- selam- مرحبا السلام नमस्ते こんに 안녕
goodbye tschuss adios tchau arrivederci пока görüşürüz अलविदा さよな
thank danke- merci- obrigad- grazie- спасибо- teşekkür- sağol- شكرا धन्यवाद शुक्रिया ありが 感謝 감사 고마
sorry entschuldig- perdon disculpa- desole excus- desculp- scus- извин- özür- آسف اعتذار माफ़ माफ ごめん 謝罪 申し訳 미안 사과
help ayuda- aide- aider ajud- aiut- помоги- помощ- yardım- ساعدني مساعدة मदद 助け 手伝 도와 도움
problem fehler- probleme error- erreur- erro erros errore- ошибк- проблем- hata- sorun- خطأ مشكلة गड़बड़ समस्या एरर エラー 不具合 오류 에러 문제
fail gescheitert falla- fallo echou- echec falh- fallisc- упал- падает başarısız- فشل फेल 失敗 실패
broken kaputt- roto- averia- panne quebr- guast- слом- bozul- خربان مكسور खराब 壊れ 故障 고장
fix reparier- behebe- arregl- reparar repar- corrig- consert- aggiust- sistem- почин- исправ- düzelt- tamir- صلح أصلح ठीक 直し 修正 고쳐 수정
code quellcode- codigo- funktion- skript- funcion- fonction- funcao- codice- funzion- скрипт- функци- код- kodu kod- fonksiyon- كود دالة سكربت कोड फंक्शन फ़ंक्शन コード 関数 スクリ 코드 함수 스크립
test tests- prueba- тест- testi- اختبار टेस्ट テスト 테스
git ветк- коммит- коммить- فرع ब्रांच कमिट ブラン コミッ マージ 브랜 커밋 머지
deploy bereitstell- despleg- desplieg- deploi- implant- деплой- задепло- yayın- انشر نشر डिप्लॉय デプロ 배포
server servidor- serveur- server- сервер- sunucu- سيرفر خادم सर्वर サーバ 서버
database datenbank- база- баз- veritaban- डेटाबेस データ ディービ 데이터
file datei- ordner- archivo- carpeta- fichier- dossier- arquivo- pasta- cartell- файл- папк- dosya- klasör- ملف ملفات مجلد फ़ाइल फाइल फ़ोल्डर फोल्डर ファイ フォル 파일 폴더
download herunterlad- descarg- telecharg- baixa- scaric- скач- загруз- yükle- نزل حمل تحميل डाउनलोड ダウン 다운
install installi- instal- установ- настро- kur ayarla- تثبيت ثبت इंस्टॉल 設定 インス 設置 설치 설정
image bild- foto- imagen- imagem imagens immagin- картинк- фото- изображен- resim- resmi- fotoğraf- görsel- صورة صور फोटो फ़ोटो तस्वीर चित्र 画像 写真 사진 이미 그림
draw zeichn- dibuj- dessin- desenh- disegn- нарис- çiz- ارسم रेखाचित्र 描い 描き 그려
analyze auswert- analysier- analiz- analis- анализ- проанализ- تحليل حلل विश्लेषण 分析 集計 분석
compare comparar compara- vergleich- unterschied- diferenc- confront- difference- differenz- сравн- разниц- karşılaştır- fark- قارن فرق तुलना अंतर फर्क 比較 違い 비교 차이
summarize zusammenfass- fass- riassu- riassunt- sintesi кратко- выжимк- özet- لخص ملخص सारांश संक्षेप 要約 まとめ 요약 정리
calculate calcula- berechn- rechne- calcola- посчитай- рассчит- подсчит- hesapla- احسب हिसाब गणना 計算 계산
recommend empfehl- recomend- recommand- consigli- conseil- посовет- рекоменд- öner- انصح- اقترح- सुझा- सलाह 推薦 おすす お勧 추천 조언
decide entscheid- decis- deberia devrais- devo dovrei решит- решен- karar- قرار أقرر फैसला निर्णय 迷っ 決め 決断 결정 고민
plan plane- planific- planif- plano план- спланир- planla- خطة رتب योजना 計画 계획
security sicherheit- seguridad seguranca securit- sicurezza безопасн- уязвим- güvenlik- أمان ثغرة सुरक्षा 安全 脆弱 보안 취약
permission berechtig- permis- autoris- autorizz- доступ- разрешен- izin- صلاحية صلاحيات अनुमति 権限 許可 권한
network ağı ağa ağım netzwerk- wlan internet- reseau- rete сеть сети вайфай- интернет- bağlantı- شبكة انترنت نت नेटवर्क इंटरनेट वाईफाई ネット 接続 回線 인터 와이 네트
website webseite- seite- pagina- sitio- site- страниц- сайт- sayfa- siteyi- موقع صفحة वेबसाइट साइट サイト ページ 사이 페이
computer rechner ordenador- ordinateur- computador- компьютер- ноутбук- bilgisayar- laptop- كمبيوتر لابتوب جهاز कंप्यूटर लैपटॉप パソコ 컴퓨 노트북
battery akku- bateria- батаре- зарядк- batarya- şarj- بطارية شحن- बैटरी 充電 배터 충전
city stadt ciudad- ville- cidade- citta город- şehir- مدينة शहर 都市 도시
house evde eve evim haus zuhause casa- maison- дом- дома- بيت منزل घर 自宅 家の 집에
room zimmer wohnzimmer- kuche- schlafzimmer- cocina- dormitor- habitac- chambre- cuisine- quarto cozinha- stanza- cucina- камер- комнат- кухн- спальн- oda- mutfak- غرفة مطبخ صالة कमर- रसोई 部屋 寝室 居間 台所 거실 침실 주방 방에
school schule- escuela- ecole- escola- scuola- школ- okul- مدرسة جامعة स्कूल 学校 宿題 학교
history geschichtlich- historisch- истор- تاريخي इतिहास 歴史 역사
earlier letzt- neulich damals vorhin ultim- pasad- derni- scors- прошл- недавн- раньше geçen- önceki- الماضي قبل पिछल- पहले 先日 前回 以前 지난 저번 예전
remember gespeichert acuerda- souven- retien- lembra- запомн- помнишь помни- hatırl- unut- تذكر تتذكر احفظ याद- 覚え 記憶 저장
search suche- durchsuch- recherche- pesquis- ricerc-
pet hund hunde katze- perro- gato- chien- cachorr- cane gatto собак- кот- кошк- köpek- kedi- كلب قطة कुत्त- बिल्ली 犬が 猫が 고양 강아
`
