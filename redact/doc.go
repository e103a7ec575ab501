// Package redact removes personal data and secrets from text before it is
// stored or sent (contract §12, privacyMode strict):
//
//	found                                         written
//	/Users/NAME, /home/NAME, C:\Users\NAME        the path with [REDACTED] for NAME
//	e-mail address                                [EMAIL]
//	phone number                                  [PHONE]
//	API key, token, password, URL credentials     [API_KEY]
//	card number with a valid check digit          [CARD]
//	private key                                   [PRIVATE_KEY]
//
// [Text] takes plain text, [JSON] a JSON document. Both are pure, idempotent and
// linear in the length of their input. [Quotes] redacts texts that quote redacted ones.
// [Setting] and its neighbours mask the secrets in settings and addresses of servers
// that are printed. All redaction of the program is here; callers choose the fields.
//
// The rules are a table of patterns (rules.go): an entry tells where in a line
// its pattern is tried (near.go), and which function judges the match. Only
// private keys span several lines; they have their own function.
//
// Patterns see a folded copy of the text, in which wide and mathematical forms of
// letters and digits are the plain ones, every dash is a hyphen, and invisible
// characters are missing. A rule's match is overwritten with NUL in the copy,
// so that later rules do not see it.
//
// # Forms
//
//   - name of a user in a path: /Users/NAME, /home/NAME, C:\Users\NAME, C:/USERS/NAME; in
//     Windows with blanks, & or (…) in the name (C:\Users\Ann Lee (work)\x); escaped
//     (C:\\Users, \/home\/), %2Fhome%2F, file://, behind a mount point (/mnt/c, /Volumes/x,
//     /var).
//   - e-mail address: any script on either side, without spaces around it in Chinese and
//     Japanese, %40, "a b"@host, a@[192.0.2.1].
//   - phone number: + or 00 and a country code; (415) 555-2671, 415-555-2671; a leading 0
//     with separators (090-1234-5678, 020 7946 0958, 03(3456)7890, 0171/1234567, 01 23 45 67
//     89, 044 668 18 00, 0212 123 45 67, 070-123 45 67, 0470/12.34.56); 138 0013 8000; 98765
//     43210; 8 (495) 123-45-67; in one piece only as a mobile number of China, Taiwan,
//     Japan, Korea, the United Kingdom, France or Australia, or behind tel, phone, mobile,
//     fax, Mobil, móvil, portable, tél, тел, 电话, 手机 and the like, or SMS to; without a colon
//     there it has 9 to 13 digits (tel 912 34 56 78, mobile 9876543210, phone=4155552671),
//     behind tel, tlf, тел or fax also 8 (tlf 12 34 56 78); behind contact: only in groups
//     (Contact: 0 800 123 4567).
//   - card number: 13 to 19 digits with the beginning and length of an issuer and a valid
//     check digit, in one piece or in groups (of four with _ or / as well), also in a table
//     of commas, behind $ and in front of .00.
//   - key or token: known beginnings (OpenAI, Anthropic, OpenRouter, GitHub, GitLab, Slack,
//     AWS, Google, Stripe, npm, Hugging Face and some fifty more), JWTs, NATS seeds,
//     Telegram and Discord bot tokens, webhooks of Slack and Discord, Bearer …, Basic …,
//     Authorization: with other schemes and without one, curl -u name:password, --proxy-
//     user, Digest … response=, private keys in hexadecimal, JSON fields named
//     Authorization, Cookie and so on, sshpass -p, docker login -p, redis-cli -a and unzip
//     -P, session cookies, "auth" of a docker configuration, client-key-data of a
//     kubeconfig, mysql -ppassword, machine … login … password … of a netrc, set NAME_KEY
//     value, sig=… in URLs, "d":"…" of JWKs; values of 16 characters or more in Cookie: and
//     Set-Cookie:, with what follows them in Cookie:.
//   - value with a name: names that end in password, passwd, passphrase, pwd, token, secret,
//     apiKey, accessKey, secretKey, signature, credentials and the like, in any spelling;
//     contraseña, senha, mot de passe, Passwort, Kennwort, пароль, 密码, 密钥, パスワード, 비밀번호;
//     behind =, :, =>, is, 是, は, as --name value, <name>value</name>, in JSON and in escaped
//     JSON. pass, and PASS in front of =, if the value has letters and digits; other names
//     of variables in capitals that end in _PASS likewise, in _KEY if the value looks random
//     (STRIPE_KEY=…): a UUID, base64:…, 12 letters and digits in a row with two numbers
//     among them (abc123def456), or 32 in a row.
//   - credentials in a URL: scheme://user:password@host, scheme://long-key@host,
//     nats://token@host.
//   - private key: PEM and OpenPGP blocks, and the private lines of PuTTY key files, also
//     with \n for the ends of lines, cut before END or after BEGIN.
//
// Field names of one JSON object that would become equal are numbered, so that no field
// is lost: [EMAIL], [EMAIL] #2. A text that hides one thing behind another more than
// seven times is replaced as a whole, with [REDACTED].
//
// # What is left
//
//   - Numbers: dates, timestamps, versions, UUIDs, hashes, IP and MAC addresses, prices,
//     ISBNs, years, order numbers, modes of files (0755 0644 0600), long integers. Numbers
//     in JSON that are not strings.
//   - Names: git@ of remotes, pkg@1.2.3, icon@2x.png, user@1000.service, root@localhost,
//     @decorator, @mention. An address with another name in front of a remote
//     (alice@git.example.com:x) is an e-mail address.
//   - Paths: /home itself, /Users/Shared, C:\Users\Public, placeholders (/home/$USER),
//     src/home/x, https://host/home/x, /api/home/x.
//   - Values: PASS: TestFoo1, as a test result; PRIMARY_KEY=id, cache_key=users:list,
//     STORAGE_KEY="userPreferencesV2", and whatever PUBLIC_KEY, CACHE_KEY, OBJECT_KEY,
//     SORT_KEY, PARTITION_KEY and IDEMPOTENCY_KEY have; password: string, token=${TOKEN},
//     password = getpass(), max_tokens=4096, ******; password: must be long, as a word
//     followed by more words is not a password.
//   - Names of people, street addresses, IBANs, national identity numbers; IP addresses,
//     unless KnowHub has redactIPs: true.
package redact
