/// HTML that a client receives instead of JSON.
enum FaultPages {
    static let badGateway = nginx("502 Bad Gateway")
    static let addressTooLong = nginx("414 Request-URI Too Large")

    private static func nginx(_ title: String) -> String {
        """
        <html>\r
        <head><title>\(title)</title></head>\r
        <body>\r
        <center><h1>\(title)</h1></center>\r
        <hr><center>nginx</center>\r
        </body>\r
        </html>\r

        """
    }

    static let hibernating = """
        <!DOCTYPE html>
        <html>
        <head><title>Instance Hibernating page</title></head>
        <body class="instance-hibernating-page">
        <h1>Your instance is hibernating</h1>
        <p>Sign in to the site to wake your instance</p>
        </body>
        </html>

        """

    static let invalidAuthorization = """
        <!DOCTYPE html>
        <html>
        <head><title>OAuth</title></head>
        <body><h1>Invalid request: client, redirect address or response type</h1></body>
        </html>

        """

    static let login = """
        <!DOCTYPE html>
        <html>
        <head><title>Log in</title></head>
        <body>
        <form action="login.do" method="post">
        <input name="user_name"><input name="user_password" type="password">
        <input type="hidden" name="sysparm_login_url" value="login.do">
        <button name="sysverb_login">Log in</button>
        </form>
        </body>
        </html>

        """
}
