package redact_test

import (
	"fmt"

	"intenthint/redact"
)

func ExampleText() {
	fmt.Println(redact.Text("我的邮箱是a@b.com谢谢, call +1 (415) 555-2671"))
	fmt.Println(redact.Text(`open C:\Users\alice\notes.txt with password=hunter2`))
	fmt.Println(redact.Text("pay with 4111 1111 1111 1111 for release 2024.01.15"))
	// Output:
	// 我的邮箱是[EMAIL]谢谢, call [PHONE]
	// open C:\Users\[REDACTED]\notes.txt with password=[API_KEY]
	// pay with [CARD] for release 2024.01.15
}

func ExampleJSON() {
	fmt.Printf("%s\n", redact.JSON([]byte(`{"prompt": "mail a@b.com", "at": 1700000000000, "password": "x1"}`)))
	// Output:
	// {"prompt": "mail [EMAIL]", "at": 1700000000000, "password": "[API_KEY]"}
}
