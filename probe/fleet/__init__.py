"""One host's users, one after the other: what the Ansible modules call.

    users       who is meant, and the loop; a user for whom it failed hides nobody else
    observe     facts and verdict          configure   client entries          prove   handshakes and denials
"""
